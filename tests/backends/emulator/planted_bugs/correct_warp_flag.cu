// Bug: none: a warp stores and converges, and one lane sets the flag for all after a fence
// Expect: ok
// Tool: racecheck synccheck memcheck initcheck
// Launch: 1 64 128
extern "C" __global__ void correct_warp_flag(const T *in, T *out, unsigned int n) {
    unsigned int t = threadIdx.x;
    volatile T *flag = out + n - 1;
    if (t >= 32) {
        out[t] = in[t];
        __syncwarp();
        if (t == 32) {
            __threadfence_block();
            *flag = 1;
        }
    } else {
        if (t == 0) {
            while (*flag == 0)
                ;
            __threadfence_block();
        }
        __syncwarp();
        out[t] = out[63 - t];
    }
}

// Bug: one lane sets the flag for its whole warp without a fence
// Expect: global-race
// Tool: none (racecheck looks at shared memory only)
// Launch: 1 64 128
extern "C" __global__ void global_warp_flag_no_fence(const T *in, T *out, unsigned int n) {
    unsigned int t = threadIdx.x;
    volatile T *flag = out + n - 1;
    if (t >= 32) {
        out[t] = in[t];
        __syncwarp();
        if (t == 32) {
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

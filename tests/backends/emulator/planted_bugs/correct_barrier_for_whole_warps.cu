// Bug: none: two warps wait at a barrier of their own
// Expect: ok
// Tool: racecheck synccheck memcheck initcheck
// Launch: 1 128 128
extern "C" __global__ void correct_barrier_for_whole_warps(const T *in, T *out, unsigned int n) {
    unsigned int t = threadIdx.x;
    unsigned int i = blockIdx.x * blockDim.x + t;
    __shared__ T s[64];
    if (t < 64) {
        s[t] = in[i];
        asm volatile("bar.sync 1, 64;" ::: "memory");
        out[i] = s[63 - t];
    }
}

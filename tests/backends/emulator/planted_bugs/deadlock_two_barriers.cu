// Bug: one warp waits at barrier 1 for 64 threads, all others at barrier 0
// Expect: deadlock
// Tool: none (it never ends)
// Launch: 1 128 128
extern "C" __global__ void deadlock_two_barriers(const T *in, T *out, unsigned int n) {
    unsigned int t = threadIdx.x;
    unsigned int i = blockIdx.x * blockDim.x + t;
    if (t < 32)
        asm volatile("bar.sync 1, 64;" ::: "memory");
    else
        asm volatile("bar.sync 0, 128;" ::: "memory");
    out[i] = in[i];
}

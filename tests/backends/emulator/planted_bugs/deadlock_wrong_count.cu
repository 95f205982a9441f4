// Bug: a barrier waits for more threads than the block has
// Expect: deadlock
// Tool: none (it never ends)
// Launch: 1 64 64
extern "C" __global__ void deadlock_wrong_count(const T *in, T *out, unsigned int n) {
    unsigned int t = threadIdx.x;
    unsigned int i = blockIdx.x * blockDim.x + t;
    asm volatile("bar.sync 1, 128;" ::: "memory");
    out[i] = in[i];
}

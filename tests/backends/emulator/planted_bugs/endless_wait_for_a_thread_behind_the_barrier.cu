// Bug: a warp waits for a flag that is set only after the barrier
// Expect: deadlock
// Tool: none (it never ends)
// Launch: 1 64 64
extern "C" __global__ void endless_wait_for_a_thread_behind_the_barrier(const T *in, T *out, unsigned int n) {
    unsigned int t = threadIdx.x;
    unsigned int i = blockIdx.x * blockDim.x + t;
    __shared__ int flag;
    volatile int *word = &flag;
    if (t == 0)
        *word = 0;
    __syncthreads();
    if (t < 32)
        while (*word == 0) {
        }
    __syncthreads();
    if (t == 32)
        *word = 1;
    out[i] = in[i];
}

// Bug: one block of the grid skips the barrier
// Expect: shared-race
// Tool: racecheck
// Launch: 4 128 512
extern "C" __global__ void shared_barrier_skipped_by_a_block(const T *in, T *out, unsigned int n) {
    unsigned int t = threadIdx.x;
    unsigned int i = blockIdx.x * blockDim.x + t;
    __shared__ T s[128];
    s[t] = in[i];
    if (blockIdx.x != 2)
        __syncthreads();
    out[i] = s[127 - t];
}

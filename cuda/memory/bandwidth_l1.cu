// bandwidth_l1: every thread adds PASSES times ROUNDS numbers that lie in the L1 cache.
// Idea: all warps read the same few rows of 32 numbers. The first warp on a multiprocessor brings them into its L1
//   cache; each pass of a warp begins one row further on.
// Fixes (bandwidth_global): the path to global memory: each multiprocessor has its own cache, and all of them deliver
//   at the same time.
// Limit: the bandwidth of the L1 caches: a row of 128 bytes per cycle and multiprocessor at most.
// Conditions: any n; in holds ROUNDS + PASSES rows. All threads with the same lane number write the same sum.
// Lecture: CS121, "GPU memory organization": 12,000 GB/s.
extern "C" __global__ void bandwidth_l1(const T *in, T *out, unsigned int n)
{
    unsigned int lane = threadIdx.x % 32;
    unsigned int i = blockIdx.x * blockDim.x + threadIdx.x;

    T sum = T(0);
#pragma unroll 1
    for (unsigned int pass = 0; pass < PASSES; ++pass) {
        const T *rows = in + 32 * pass;
#pragma unroll
        for (unsigned int round = 0; round < ROUNDS; ++round)
            sum += rows[32 * round + lane];
    }

    if (i < n) out[i] = sum;
}

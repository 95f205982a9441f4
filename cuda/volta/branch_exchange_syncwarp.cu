// branch_exchange_syncwarp: the lanes wait for each other before they read.
// Idea: the same exchange, with __syncwarp after the if/else.
// Fixes (branch_exchange): the race: at __syncwarp the lanes converge, and their writes become visible to each other.
// Limit: a wait; it costs little beside the two branches, which run one after the other.
// Conditions: any n; the lanes below SPLIT take the first branch; the block size is a multiple of 32; integers.
// Lecture: Heidelberg 07, "Volta's (and after) SIMT model": "__syncwarp() to force reconvergence".
extern "C" __global__ void branch_exchange_syncwarp(const T *in, T *out, unsigned int n)
{
    __shared__ unsigned int left[BLOCK_SIZE];
    unsigned int tid = threadIdx.x;
    unsigned int i = blockIdx.x * blockDim.x + threadIdx.x;
    unsigned int value = (i < n) ? in[i] : 0;

    if (tid % 32 < SPLIT) {
#pragma unroll 1  // a loop, so this stays a branch
        for (unsigned int round = 0; round < 4; ++round)
            value = 3 * value + 1;
        left[tid] = value;
    } else {
#pragma unroll 1
        for (unsigned int round = 0; round < 4; ++round)
            value = 5 * value + 2;
        left[tid] = value;
    }
    __syncwarp();

    if (i < n) out[i] = left[tid ^ 31];
}

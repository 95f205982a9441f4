// branch_exchange: after an if/else, lanes read the numbers that lanes of the other branch wrote.
// Idea: every lane stores a number in shared memory, and lane l reads the number of lane 31 - l.
// Fixes (branch_order_syncwarp): nothing; code from before Volta looks like this.
// Limit: nothing makes a lane wait for the other branch. It is right while the compiler and the GPU happen to let the
//   lanes converge before they read; since Volta that is luck.
// Conditions: any n; the lanes below SPLIT take the first branch; the block size is a multiple of 32; integers.
// Lecture: Heidelberg 07, "Volta's (and after) SIMT model".
extern "C" __global__ void branch_exchange(const T *in, T *out, unsigned int n)
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

    if (i < n) out[i] = left[tid ^ 31];
}

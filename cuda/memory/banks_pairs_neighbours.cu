// banks_pairs_neighbours: copy through shared memory, each thread loads two neighbouring numbers.
// Idea: every thread brings two numbers from global to shared memory, the ones at 2 * tid and 2 * tid + 1.
// Fixes (banks_broadcast): nothing yet.
// Limit: a 2-way bank conflict. Lanes 0 and 16 store to words 0 and 32, which lie in the same bank, and so on: every
//   store takes two passes. The loads from global memory use only every other number that they touch.
// Conditions: any n; two numbers per thread. The shared array is volatile because the compiler would otherwise join
//   both stores into one of two words, and there would be no conflict to see.
// Lecture: CS121, "Bank conflict example", left.
extern "C" __global__ void banks_pairs_neighbours(const T *in, T *out, unsigned int n)
{
    volatile __shared__ T pairs[2 * BLOCK_SIZE];
    unsigned int tid = threadIdx.x;
    unsigned int first = blockIdx.x * (blockDim.x * 2);

    // each thread loads two numbers
    pairs[2 * tid] = (first + 2 * tid < n) ? in[first + 2 * tid] : T(0);
    pairs[2 * tid + 1] = (first + 2 * tid + 1 < n) ? in[first + 2 * tid + 1] : T(0);
    __syncthreads();

    // each thread writes two numbers, a block size apart
    if (first + tid < n) out[first + tid] = pairs[tid];
    if (first + tid + blockDim.x < n) out[first + tid + blockDim.x] = pairs[tid + blockDim.x];
}

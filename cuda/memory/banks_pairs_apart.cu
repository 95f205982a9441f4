// banks_pairs_apart: copy through shared memory, each thread loads two numbers a block size apart.
// Idea: every thread brings two numbers from global to shared memory, the ones at tid and tid + blockDim.x.
// Fixes (banks_pairs_neighbours): the 2-way bank conflict. The lanes of a warp store to 32 neighbouring words, one in
//   each bank, and they load 32 neighbouring numbers from global memory.
// Limit: memory bandwidth.
// Conditions: any n; two numbers per thread. The shared array is volatile as in banks_pairs_neighbours.
// Lecture: CS121, "Bank conflict example", right.
extern "C" __global__ void banks_pairs_apart(const T *in, T *out, unsigned int n)
{
    volatile __shared__ T pairs[2 * BLOCK_SIZE];
    unsigned int tid = threadIdx.x;
    unsigned int first = blockIdx.x * (blockDim.x * 2);

    // each thread loads two numbers
    pairs[tid] = (first + tid < n) ? in[first + tid] : T(0);
    pairs[tid + blockDim.x] = (first + tid + blockDim.x < n) ? in[first + tid + blockDim.x] : T(0);
    __syncthreads();

    // each thread writes two numbers, a block size apart
    if (first + tid < n) out[first + tid] = pairs[tid];
    if (first + tid + blockDim.x < n) out[first + tid + blockDim.x] = pairs[tid + blockDim.x];
}

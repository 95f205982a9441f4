// reduce_complete_volatile: completely unrolled, as on Harris's slide, with volatile.
// Idea: BLOCK_SIZE is a constant, so each "if (BLOCK_SIZE >= ...)" is decided by the compiler and no loop is left.
//   The slides do it with a C++ template and a switch over the block sizes.
// Fixes (reduce_unroll_volatile): the counting, comparing and branching of the loop.
// Limit: it relies on lockstep, as #5 does. And each thread still adds only two elements before the tree: a large array
//   needs many short-lived blocks, and each of them pays for the tree and the barriers.
// Conditions: warps in lockstep (Pascal and before); the block size is a power of two; two elements per thread.
// Lecture: Harris #6; Crovella 2020, "Reduction #6: completely unrolled". Ours: the checks against n, the step for
//   1,024 threads, and at least 64 words: on the slides the last lanes of a small block read past its array.
__device__ void warp_reduce(volatile T *partial, unsigned int tid)
{
    if (BLOCK_SIZE >= 64) partial[tid] += partial[tid + 32];
    if (BLOCK_SIZE >= 32) partial[tid] += partial[tid + 16];
    if (BLOCK_SIZE >= 16) partial[tid] += partial[tid + 8];
    if (BLOCK_SIZE >= 8) partial[tid] += partial[tid + 4];
    if (BLOCK_SIZE >= 4) partial[tid] += partial[tid + 2];
    if (BLOCK_SIZE >= 2) partial[tid] += partial[tid + 1];
}

extern "C" __global__ void reduce_complete_volatile(const T *in, T *out, unsigned int n)
{
    __shared__ T partial[BLOCK_SIZE < 64 ? 64 : BLOCK_SIZE];
    unsigned int tid = threadIdx.x;
    unsigned int i = blockIdx.x * (BLOCK_SIZE * 2) + threadIdx.x;

    // each thread loads two elements from global memory and adds them into shared memory
    partial[tid] = ((i < n) ? in[i] : T(0))
                 + ((i + BLOCK_SIZE < n) ? in[i + BLOCK_SIZE] : T(0));
    __syncthreads();

    // reduce in shared memory
    if (BLOCK_SIZE >= 1024) { if (tid < 512) partial[tid] += partial[tid + 512]; __syncthreads(); }
    if (BLOCK_SIZE >= 512) { if (tid < 256) partial[tid] += partial[tid + 256]; __syncthreads(); }
    if (BLOCK_SIZE >= 256) { if (tid < 128) partial[tid] += partial[tid + 128]; __syncthreads(); }
    if (BLOCK_SIZE >= 128) { if (tid < 64) partial[tid] += partial[tid + 64]; __syncthreads(); }
    if (tid < 32) warp_reduce(partial, tid);

    // write the sum of this block
    if (tid == 0) out[blockIdx.x] = partial[0];
}

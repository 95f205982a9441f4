// reduce_complete_guarded: completely unrolled, as on Heidelberg's slide: an if for every step, and no volatile.
// Idea: BLOCK_SIZE is a constant, so each "BLOCK_SIZE >= ..." is decided by the compiler and no loop is left. The slide
//   does it with a C++ template and a switch over eleven block sizes (it says ten).
// Fixes (reduce_unroll_guarded): the counting, comparing and branching of the loop.
// Limit: no thread of the last warp waits for another, as in #5: compiled for a current GPU the answer is wrong. And
//   each thread still adds only two elements before the tree.
// Conditions: warps in lockstep, and loads and stores in the order of the text; the block size is a power of two; two
//   elements per thread.
// Lecture: Heidelberg 07, "Reduction #6: complete unrolling", as printed, but for an opening brace that is
//   missing there after "blockSize >= 128". Ours is the check of both reads against n.
extern "C" __global__ void reduce_complete_guarded(const T *in, T *out, unsigned int n)
{
    __shared__ T partial[BLOCK_SIZE];
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
    if (tid < 32 && BLOCK_SIZE >= 64) partial[tid] += partial[tid + 32];
    if (tid < 16 && BLOCK_SIZE >= 32) partial[tid] += partial[tid + 16];
    if (tid < 8 && BLOCK_SIZE >= 16) partial[tid] += partial[tid + 8];
    if (tid < 4 && BLOCK_SIZE >= 8) partial[tid] += partial[tid + 4];
    if (tid < 2 && BLOCK_SIZE >= 4) partial[tid] += partial[tid + 2];
    if (tid < 1 && BLOCK_SIZE >= 2) partial[tid] += partial[tid + 1];

    // write the sum of this block
    if (tid == 0) out[blockIdx.x] = partial[0];
}

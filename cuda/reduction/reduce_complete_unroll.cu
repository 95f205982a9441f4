// reduce_complete_unroll: completely unrolled for a block size that is known at compile time, with __syncwarp.
// Idea: BLOCK_SIZE is a constant, so each "if (BLOCK_SIZE >= ...)" is decided by the compiler and no loop is left.
//   The slides do it with a C++ template and a switch over the block sizes.
// Fixes (reduce_unroll_syncwarp): the counting, comparing and branching of the loop.
// Limit: each thread still adds only two elements before the tree. A large array needs many short-lived blocks, and
//   each of them pays for the tree and the barriers.
// Conditions: the block size is a power of two from 32 to 1024; two elements per thread.
// Lecture: none as it stands. It is #6 of Harris (reduce_complete_volatile) and of Heidelberg 07
//   (reduce_complete_guarded) with __syncwarp in the last warp, which makes it right on every GPU.
__device__ void warp_reduce(T *partial, unsigned int tid)
{
    T sum = partial[tid];
    if (BLOCK_SIZE >= 64) { sum += partial[tid + 32]; __syncwarp(); partial[tid] = sum; __syncwarp(); }
    sum += partial[tid + 16]; __syncwarp(); partial[tid] = sum; __syncwarp();
    sum += partial[tid + 8];  __syncwarp(); partial[tid] = sum; __syncwarp();
    sum += partial[tid + 4];  __syncwarp(); partial[tid] = sum; __syncwarp();
    sum += partial[tid + 2];  __syncwarp(); partial[tid] = sum; __syncwarp();
    sum += partial[tid + 1];  __syncwarp(); partial[tid] = sum; __syncwarp();
}

extern "C" __global__ void reduce_complete_unroll(const T *in, T *out, unsigned int n)
{
    __shared__ T partial[BLOCK_SIZE < 64 ? 64 : BLOCK_SIZE];
    unsigned int tid = threadIdx.x;
    unsigned int i = blockIdx.x * (BLOCK_SIZE * 2) + threadIdx.x;

    // each thread loads two elements from global memory and adds them into shared memory
    partial[tid] = ((i < n) ? in[i] : T(0))
                 + ((i + BLOCK_SIZE < n) ? in[i + BLOCK_SIZE] : T(0));
    if (BLOCK_SIZE < 64) partial[tid + 32] = T(0);  // the last warp reads 64 elements, whatever the block size
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

// reduce_multiple_adds: multiple adds per thread, with __syncwarp.
// Idea: algorithm cascading. A fixed number of blocks walks over the array: each thread first adds many elements on
//   its own, then the block reduces its sums once. A step as wide as the grid keeps the loads coalesced.
// Fixes (reduce_multiple_volatile): the reliance on lockstep: without a wait a lane may read a sum before its neighbour
//   has stored it.
// Limit: reading memory, if the grid is large enough. The block sums still need a second launch.
// Conditions: any grid size; the block size is a power of two from 32 to 1024.
// Lecture: none as it stands. It is Harris #7 (reduce_multiple_volatile) with __syncwarp in the last warp, which makes
//   it right on every GPU; Heidelberg 07 names multiple adds per thread as the next step.
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

extern "C" __global__ void reduce_multiple_adds(const T *in, T *out, unsigned int n)
{
    __shared__ T partial[BLOCK_SIZE < 64 ? 64 : BLOCK_SIZE];
    unsigned int tid = threadIdx.x;
    unsigned int i = blockIdx.x * (BLOCK_SIZE * 2) + threadIdx.x;
    unsigned int grid_stride = BLOCK_SIZE * 2 * gridDim.x;

    // each thread adds as many pairs of elements as necessary
    partial[tid] = T(0);
    while (i < n) {
        partial[tid] += in[i] + ((i + BLOCK_SIZE < n) ? in[i + BLOCK_SIZE] : T(0));
        i += grid_stride;
    }
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

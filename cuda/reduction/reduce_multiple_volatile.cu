// reduce_multiple_volatile: multiple adds per thread, as on Harris's slide, with volatile.
// Idea: algorithm cascading. A fixed number of blocks walks over the array: each thread first adds many elements on
//   its own, then the block reduces its sums once. A step as wide as the grid keeps the loads coalesced.
// Fixes (reduce_complete_volatile): a tree with its barriers in every block, for only two elements of each thread, and
//   a number of blocks that grows with n.
// Limit: it relies on lockstep, as #5 and #6 do. If the grid is large enough, reading memory dominates. The block
//   sums still need a second launch.
// Conditions: warps in lockstep (Pascal and before); any grid size; the block size is a power of two.
// Lecture: Harris #7; Crovella 2020, "Reduction #7: multiple adds / thread" and "Final optimized kernel". Ours are the
//   step for 1,024 threads and the check of the second read: n need not be a multiple of twice the block size.
__device__ void warp_reduce(volatile T *partial, unsigned int tid)
{
    if (BLOCK_SIZE >= 64) partial[tid] += partial[tid + 32];
    if (BLOCK_SIZE >= 32) partial[tid] += partial[tid + 16];
    if (BLOCK_SIZE >= 16) partial[tid] += partial[tid + 8];
    if (BLOCK_SIZE >= 8) partial[tid] += partial[tid + 4];
    if (BLOCK_SIZE >= 4) partial[tid] += partial[tid + 2];
    if (BLOCK_SIZE >= 2) partial[tid] += partial[tid + 1];
}

extern "C" __global__ void reduce_multiple_volatile(const T *in, T *out, unsigned int n)
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

// reduce_unroll_shuffle: unroll the last warp, with shuffles.
// Idea: the last five steps leave shared memory. __shfl_down_sync hands a lane the register of the lane some places
//   higher, and the lanes converge for it.
// Fixes (reduce_complete_unroll, reduce_unroll_syncwarp): two __syncwarp, a load and a store per step: a shuffle is one
//   instruction.
// Limit: instruction overhead again. The loop over the larger strides still counts, compares and branches.
// Conditions: the block size is a power of two from 32 on; two elements per thread. Right on every GPU.
// Lecture: Heidelberg 07, "Warp-level instructions"; Crovella 2020, "Warp shuffle".
__device__ void warp_reduce(T *partial, unsigned int tid)
{
    T sum = partial[tid];
    sum += partial[tid + 32];
    sum += __shfl_down_sync(0xffffffff, sum, 16);
    sum += __shfl_down_sync(0xffffffff, sum, 8);
    sum += __shfl_down_sync(0xffffffff, sum, 4);
    sum += __shfl_down_sync(0xffffffff, sum, 2);
    sum += __shfl_down_sync(0xffffffff, sum, 1);
    partial[tid] = sum;
}

extern "C" __global__ void reduce_unroll_shuffle(const T *in, T *out, unsigned int n)
{
    __shared__ T partial[BLOCK_SIZE < 64 ? 64 : BLOCK_SIZE];
    unsigned int tid = threadIdx.x;
    unsigned int i = blockIdx.x * (blockDim.x * 2) + threadIdx.x;

    // each thread loads two elements from global memory and adds them into shared memory
    partial[tid] = ((i < n) ? in[i] : T(0))
                 + ((i + blockDim.x < n) ? in[i + blockDim.x] : T(0));
    if (BLOCK_SIZE < 64) partial[tid + 32] = T(0);  // the last warp reads 64 elements, whatever the block size
    __syncthreads();

    // reduce in shared memory
    for (unsigned int stride = blockDim.x / 2; stride > 32; stride >>= 1) {
        if (tid < stride)
            partial[tid] += partial[tid + stride];
        __syncthreads();
    }
    if (tid < 32) warp_reduce(partial, tid);

    // write the sum of this block
    if (tid == 0) out[blockIdx.x] = partial[0];
}

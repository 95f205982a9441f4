// reduce_min: the smallest of n numbers.
// Idea: the same tree with the operator min. Where + starts from 0 and * from 1, min can start from any of the
//   numbers: counting one twice changes nothing.
// Fixes (reduce_product): nothing; unlike a product of floats, a minimum is exact in any order.
// Limit: global memory bandwidth when n is large, the two launches when it is small.
// Conditions: any n and any grid size; the block size is a power of two. One partial minimum per block is left.
// Lecture: Heidelberg 07, "Parallel reduction": associative operations; CS121, "max, or min of array".
extern "C" __global__ void reduce_min(const T *in, T *out, unsigned int n)
{
    __shared__ T partial[BLOCK_SIZE];
    unsigned int tid = threadIdx.x;
    unsigned int i = blockIdx.x * blockDim.x + threadIdx.x;
    unsigned int grid_stride = blockDim.x * gridDim.x;

    // each thread compares as many elements as necessary
    T mine = in[0];
    while (i < n) {
        mine = min(mine, in[i]);
        i += grid_stride;
    }
    partial[tid] = mine;
    __syncthreads();

    // reduce in shared memory
    for (unsigned int stride = blockDim.x / 2; stride > 0; stride >>= 1) {
        if (tid < stride)
            partial[tid] = min(partial[tid], partial[tid + stride]);
        __syncthreads();
    }

    // write the minimum of this block
    if (tid == 0) out[blockIdx.x] = partial[0];
}

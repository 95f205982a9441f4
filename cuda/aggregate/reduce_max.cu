// reduce_max: the largest of n numbers.
// Idea: the same tree with the operator max, and again the first number to start from.
// Fixes (reduce_min): nothing. One word differs from the minimum.
// Limit: global memory bandwidth when n is large, the two launches when it is small.
// Conditions: any n and any grid size; the block size is a power of two. One partial maximum per block is left.
// Lecture: Heidelberg 07, "Parallel reduction": associative operations; CS121, "max, or min of array".
extern "C" __global__ void reduce_max(const T *in, T *out, unsigned int n)
{
    __shared__ T partial[BLOCK_SIZE];
    unsigned int tid = threadIdx.x;
    unsigned int i = blockIdx.x * blockDim.x + threadIdx.x;
    unsigned int grid_stride = blockDim.x * gridDim.x;

    // each thread compares as many elements as necessary
    T mine = in[0];
    while (i < n) {
        mine = max(mine, in[i]);
        i += grid_stride;
    }
    partial[tid] = mine;
    __syncthreads();

    // reduce in shared memory
    for (unsigned int stride = blockDim.x / 2; stride > 0; stride >>= 1) {
        if (tid < stride)
            partial[tid] = max(partial[tid], partial[tid + stride]);
        __syncthreads();
    }

    // write the maximum of this block
    if (tid == 0) out[blockIdx.x] = partial[0];
}

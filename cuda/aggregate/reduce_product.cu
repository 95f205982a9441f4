// reduce_product: the product of n numbers.
// Idea: a tree only needs an associative operation: a * (b * c) = (a * b) * c. So every reduction is the same kernel
//   with another operator and another neutral element; here * and 1.
// Fixes: nothing. It is the sum's kernel with a grid-stride loop, in which += has become *=.
// Limit: global memory bandwidth when n is large, the two launches when it is small.
// Conditions: any n and any grid size; the block size is a power of two. One partial product per block is left.
// Lecture: Heidelberg 07, "Parallel reduction": p, the product of f(x_i).
extern "C" __global__ void reduce_product(const T *in, T *out, unsigned int n)
{
    __shared__ T partial[BLOCK_SIZE];
    unsigned int tid = threadIdx.x;
    unsigned int i = blockIdx.x * blockDim.x + threadIdx.x;
    unsigned int grid_stride = blockDim.x * gridDim.x;

    // each thread multiplies as many elements as necessary
    T mine = T(1);
    while (i < n) {
        mine *= in[i];
        i += grid_stride;
    }
    partial[tid] = mine;
    __syncthreads();

    // reduce in shared memory
    for (unsigned int stride = blockDim.x / 2; stride > 0; stride >>= 1) {
        if (tid < stride)
            partial[tid] *= partial[tid + stride];
        __syncthreads();
    }

    // write the product of this block
    if (tid == 0) out[blockIdx.x] = partial[0];
}

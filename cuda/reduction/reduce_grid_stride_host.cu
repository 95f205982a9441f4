// reduce_grid_stride_host: grid-stride loop, one partial sum per block, the rest on the host.
// Idea: a loop with a step as wide as the grid handles any n with any grid; the number of blocks is chosen to fit the
//   GPU. The block is reduced with the plain loop of #3.
// Fixes (reduce_multiple_adds): complicated code. Here it needs no unrolling, no pairs and no template: each thread
//   adds many elements first, so the tree hardly counts.
// Limit: without pairs a thread has one load in flight, not two, and a long array takes half as long again as in #7.
//   The host copies the block sums and adds them; the copy costs more than the kernel when n is small.
// Conditions: any n and any grid size; the block size is a power of two.
// Lecture: Crovella 2020, "Reduce version 8": floats, and a barrier at the head of the loop, which saves one.
extern "C" __global__ void reduce_grid_stride_host(const T *in, T *out, unsigned int n)
{
    __shared__ T partial[BLOCK_SIZE];
    unsigned int tid = threadIdx.x;
    unsigned int i = blockIdx.x * blockDim.x + threadIdx.x;
    unsigned int grid_stride = blockDim.x * gridDim.x;

    // each thread adds as many elements as necessary
    partial[tid] = T(0);
    while (i < n) {
        partial[tid] += in[i];
        i += grid_stride;
    }
    __syncthreads();

    // reduce in shared memory
    for (unsigned int stride = blockDim.x / 2; stride > 0; stride >>= 1) {
        if (tid < stride)
            partial[tid] += partial[tid + stride];
        __syncthreads();
    }

    // write the sum of this block
    if (tid == 0) out[blockIdx.x] = partial[0];
}

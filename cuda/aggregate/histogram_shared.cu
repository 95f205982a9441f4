// histogram_shared: every block counts for itself, in shared memory.
// Idea: counts can be added up later. Each block has a histogram of its own in shared memory, and adds it to the one in
//   global memory when it is done: one global atomic per value and block, instead of one per element.
// Fixes (histogram_global): the contention in global memory, and its latency. While they count, blocks do not wait for
//   each other.
// Limit: contention within the block. Its warps add to the same few words of shared memory.
// Conditions: any n and any grid size; elements from 0 to BINS - 1; out starts from zero.
// Lecture: Heidelberg 07, "Parallel reduction": the histogram h_k; a tree per block, then the blocks combine.
extern "C" __global__ void histogram_shared(const T *in, T *out, unsigned int n)
{
    __shared__ T counts[BINS];
    unsigned int i = blockIdx.x * blockDim.x + threadIdx.x;
    unsigned int grid_stride = blockDim.x * gridDim.x;

    for (unsigned int k = threadIdx.x; k < BINS; k += blockDim.x) counts[k] = 0;
    __syncthreads();

    // each thread counts as many elements as necessary
    while (i < n) {
        atomicAdd(&counts[in[i]], 1);
        i += grid_stride;
    }
    __syncthreads();

    // add the counts of this block
    for (unsigned int k = threadIdx.x; k < BINS; k += blockDim.x)
        atomicAdd(&out[k], counts[k]);
}

// reduce_register_tree: register accumulator, then a tree that reads, waits, writes and waits.
// Idea: a thread's running sum is private, so it belongs in a register. Shared memory is written once, after the loop.
//   In the tree a barrier stands between reading and writing the same array, so no order is left to chance.
// Fixes (reduce_grid_stride_atomic): the running sum in shared memory, which the source stores again for every element.
//   Today's compiler keeps that sum in a register all the same, and stores it once.
// Limit: two barriers per step. One is enough here: in a step a thread writes only elements that no other thread
//   reads in that step.
// Conditions: any n and any grid size; the block size is a power of two.
// Lecture: He Kun 2024, "Reduction": full code; 10,000,000 elements, 32 blocks of 256 threads.
extern "C" __global__ void reduce_register_tree(const T *in, T *out, unsigned int n)
{
    __shared__ T partial[BLOCK_SIZE];
    unsigned int tid = threadIdx.x;
    unsigned int i = blockIdx.x * blockDim.x + threadIdx.x;
    unsigned int grid_stride = blockDim.x * gridDim.x;

    // each thread adds as many elements as necessary
    T sum = T(0);
    while (i < n) {
        sum += in[i];
        i += grid_stride;
    }
    partial[tid] = sum;
    __syncthreads();

    // reduce in shared memory
    for (unsigned int stride = blockDim.x / 2; stride > 0; stride >>= 1) {
        if (tid < stride)
            sum = partial[tid] + partial[tid + stride];
        __syncthreads();  // all have read before anyone writes
        if (tid < stride)
            partial[tid] = sum;
        __syncthreads();  // all have written before anyone reads
    }

    // add the sum of this block to the result
    if (blockIdx.x * blockDim.x < n)  // a block past the end has nothing to add
        if (tid == 0) atomicAdd(out, partial[0]);
}

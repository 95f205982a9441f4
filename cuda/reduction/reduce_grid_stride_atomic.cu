// reduce_grid_stride_atomic: grid-stride loop and one atomic per block.
// Idea: thread 0 of each block adds the block's sum to the result with atomicAdd. One launch gives the answer.
// Fixes (reduce_grid_stride_host): the copy to the host and the sum there, or a second launch.
// Limit: the tree in shared memory costs a load, a store and a barrier per step. The result must be zero beforehand.
// Conditions: any n and any grid size; power-of-two block size. Blocks finish in any order, so a float result can
//   differ in its last digits from run to run.
// Lecture: Crovella 2020, "Reduce version 9": floats, and a barrier at the head of the loop, which saves one.
extern "C" __global__ void reduce_grid_stride_atomic(const T *in, T *out, unsigned int n)
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

    // add the sum of this block to the result
    if (tid == 0) atomicAdd(out, partial[0]);
}

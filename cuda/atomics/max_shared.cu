// max_shared: the largest number, grid-stride loop and a tree in shared memory.
// Idea: the reduction of version 8 with another operation: max is associative and commutative like the sum.
// Fixes: one atomic per element: every block finds its own largest number, then one block finds the largest of these.
// Limit: a barrier per step of the tree, and a second launch.
// Conditions: any n and any grid size; power-of-two block size.
// Lecture: exercise hw5 of NVIDIA's CUDA training series: max reduction, from Crovella 2020, "Reduce version 8".
extern "C" __global__ void max_shared(const T *in, T *out, unsigned int n)
{
    __shared__ T partial[BLOCK_SIZE];
    unsigned int tid = threadIdx.x;
    unsigned int i = blockIdx.x * blockDim.x + threadIdx.x;
    unsigned int grid_stride = blockDim.x * gridDim.x;

    // each thread compares as many elements as necessary
    T largest = in[0];  // an element of the array, which is a safe start for every type
    while (i < n) {
        largest = max(largest, in[i]);
        i += grid_stride;
    }
    partial[tid] = largest;
    __syncthreads();

    // reduce in shared memory
    for (unsigned int stride = blockDim.x / 2; stride > 0; stride >>= 1) {
        if (tid < stride)
            partial[tid] = max(partial[tid], partial[tid + stride]);
        __syncthreads();
    }

    // write the largest number of this block
    if (tid == 0) out[blockIdx.x] = partial[0];
}

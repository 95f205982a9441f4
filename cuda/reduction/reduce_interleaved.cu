// reduce_interleaved: interleaved addressing with a divergent branch.
// Idea: a tree in shared memory. First every second thread adds its neighbour's value to its own, then every fourth
//   thread adds the value two places on, and so on: log2(block size) steps instead of one step per element.
// Fixes: the sum of one element after the other, in a loop or by atomics: here all blocks add at once.
// Limit: the working threads are spread over all warps. Up to stride 16 every warp works, with fewer and fewer active
//   lanes (divergence), and the % operator is slow.
// Conditions: the block size is a power of two. One partial sum per block is left. The check against n is ours.
// Lecture: Harris #1; Crovella 2020, "Reduction #1"; Heidelberg 07, "Reduction #1: interleaved addressing"; CS121,
//   whose loop has the barrier at its head.
extern "C" __global__ void reduce_interleaved(const T *in, T *out, unsigned int n)
{
    __shared__ T partial[BLOCK_SIZE];
    unsigned int tid = threadIdx.x;
    unsigned int i = blockIdx.x * blockDim.x + threadIdx.x;

    // each thread loads one element from global to shared memory
    partial[tid] = (i < n) ? in[i] : T(0);
    __syncthreads();

    // reduce in shared memory
    for (unsigned int stride = 1; stride < blockDim.x; stride *= 2) {
        if (tid % (2 * stride) == 0)
            partial[tid] += partial[tid + stride];
        __syncthreads();
    }

    // write the sum of this block
    if (tid == 0) out[blockIdx.x] = partial[0];
}

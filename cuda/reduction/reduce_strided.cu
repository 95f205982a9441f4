// reduce_strided: interleaved addressing, strided index and non-divergent branch.
// Idea: the same additions, done by consecutive threads: thread tid works on element 2 * stride * tid.
// Fixes (reduce_interleaved): the divergent branch and the % operator. Whole warps work or are done; only the last five
//   steps diverge.
// Limit: shared memory bank conflicts. At stride s the threads of a warp are 2s words apart, so their words lie in a
//   few of the 32 banks and are served one after the other.
// Conditions: the block size is a power of two. One partial sum per block is left. The check against n is ours.
// Lecture: Harris #2; Crovella 2020, "Reduction #2"; Heidelberg 07, "Reduction #2".
extern "C" __global__ void reduce_strided(const T *in, T *out, unsigned int n)
{
    __shared__ T partial[BLOCK_SIZE];
    unsigned int tid = threadIdx.x;
    unsigned int i = blockIdx.x * blockDim.x + threadIdx.x;

    // each thread loads one element from global to shared memory
    partial[tid] = (i < n) ? in[i] : T(0);
    __syncthreads();

    // reduce in shared memory
    for (unsigned int stride = 1; stride < blockDim.x; stride *= 2) {
        unsigned int index = 2 * stride * tid;
        if (index < blockDim.x)
            partial[index] += partial[index + stride];
        __syncthreads();
    }

    // write the sum of this block
    if (tid == 0) out[blockIdx.x] = partial[0];
}

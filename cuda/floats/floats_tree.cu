// floats_tree: the tree of the reductions, in floats. Launched again until one block is left.
// Idea: a tree adds sums of equal size, so a one is never added to a large sum. Each number takes part in log2(n)
//   additions.
// Fixes (floats_atomic): the long chain. log2(n) roundings in a row, and not n - 1: 2^24 and 2^20 more ones are counted
//   exactly.
// Limit: the bound still grows, by one rounding each time n doubles. The answer depends on the shape of the tree, so
//   another block size gives other last digits; but every run gives the same.
// Conditions: any n; the block size is a power of two.
// Lecture: Crovella 2020, "Parallel reduction" and "Further study": Floating point; Higham 1993, pairwise summation.
extern "C" __global__ void floats_tree(const T *in, T *out, unsigned int n)
{
    __shared__ T partial[BLOCK_SIZE];
    unsigned int tid = threadIdx.x;
    unsigned int i = blockIdx.x * blockDim.x + threadIdx.x;

    partial[tid] = (i < n) ? in[i] : T(0);
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

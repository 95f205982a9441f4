// reduce_sequential: sequential addressing.
// Idea: begin with the largest stride: thread tid adds the element half a block away, then the one a quarter of a block
//   away, and so on.
// Fixes (reduce_strided): the bank conflicts. Neighbouring threads use neighbouring words, which lie in different
//   banks.
// Limit: idle threads. Half of the threads only load one element and never add.
// Conditions: the block size is a power of two. One partial sum per block is left. The check against n is ours.
// Lecture: Harris #3; Crovella 2020, "Reduction #3"; Heidelberg 07, "Reduction #3: sequential addressing".
extern "C" __global__ void reduce_sequential(const T *in, T *out, unsigned int n)
{
    __shared__ T partial[BLOCK_SIZE];
    unsigned int tid = threadIdx.x;
    unsigned int i = blockIdx.x * blockDim.x + threadIdx.x;

    // each thread loads one element from global to shared memory
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

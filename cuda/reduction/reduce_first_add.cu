// reduce_first_add: first add during load.
// Idea: half as many blocks. Each thread loads two elements, one block apart, and adds them on the way to shared
//   memory.
// Fixes (reduce_sequential): the idle threads. Every thread now adds at least once, and two loads are in flight instead
//   of one.
// Limit: instruction overhead. Address arithmetic, the loop and its barriers cost more than the additions.
// Conditions: the block size is a power of two; the grid covers two elements per thread. The checks against n are ours.
// Lecture: Harris #4; Crovella 2020, "Reduction #4"; Heidelberg 07, "Reduction #4: first add during load".
extern "C" __global__ void reduce_first_add(const T *in, T *out, unsigned int n)
{
    __shared__ T partial[BLOCK_SIZE];
    unsigned int tid = threadIdx.x;
    unsigned int i = blockIdx.x * (blockDim.x * 2) + threadIdx.x;

    // each thread loads two elements from global memory and adds them into shared memory
    partial[tid] = ((i < n) ? in[i] : T(0))
                 + ((i + blockDim.x < n) ? in[i + blockDim.x] : T(0));
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

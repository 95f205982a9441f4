// reduce_unroll_plain: unroll the last warp with neither volatile nor an if. The answer is wrong.
// Idea: the same six steps with an ordinary pointer, for all 32 lanes.
// Fixes (reduce_unroll_volatile): nothing. It shows what volatile did.
// Limit: nothing tells the compiler that other threads change partial[] between the steps. It may load all values
//   first and keep the sum in a register, so a thread adds old values of its neighbours.
// Conditions: none makes it right. It is in the catalogue to be seen failing.
// Lecture: Crovella 2020, "Reduction #5": "we must use the volatile keyword". Heidelberg 07, "Unrolling the last warp":
//   "no need for if (tid < s)", where the code has no volatile either.
__device__ void warp_reduce(T *partial, unsigned int tid)
{
    partial[tid] += partial[tid + 32];
    partial[tid] += partial[tid + 16];
    partial[tid] += partial[tid + 8];
    partial[tid] += partial[tid + 4];
    partial[tid] += partial[tid + 2];
    partial[tid] += partial[tid + 1];
}

extern "C" __global__ void reduce_unroll_plain(const T *in, T *out, unsigned int n)
{
    __shared__ T partial[BLOCK_SIZE < 64 ? 64 : BLOCK_SIZE];
    unsigned int tid = threadIdx.x;
    unsigned int i = blockIdx.x * (blockDim.x * 2) + threadIdx.x;

    // each thread loads two elements from global memory and adds them into shared memory
    partial[tid] = ((i < n) ? in[i] : T(0))
                 + ((i + blockDim.x < n) ? in[i + blockDim.x] : T(0));
    if (BLOCK_SIZE < 64) partial[tid + 32] = T(0);  // the last warp reads 64 elements, whatever the block size
    __syncthreads();

    // reduce in shared memory
    for (unsigned int stride = blockDim.x / 2; stride > 32; stride >>= 1) {
        if (tid < stride)
            partial[tid] += partial[tid + stride];
        __syncthreads();
    }
    if (tid < 32) warp_reduce(partial, tid);

    // write the sum of this block
    if (tid == 0) out[blockIdx.x] = partial[0];
}

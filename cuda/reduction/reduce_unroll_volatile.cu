// reduce_unroll_volatile: unroll the last warp, as on Harris's slide, with volatile.
// Idea: from stride 32 on only one warp works. The slides say that the threads of a warp run in lockstep, so the last
//   six steps need no loop, no if and no barrier.
// Fixes (reduce_first_add): useless work. Without unrolling, all warps run every step of the loop and wait at every
//   barrier.
// Limit: it relies on lockstep. Since Volta the threads of a warp may run apart, and volatile only makes each step go
//   through memory: it makes no thread wait. The answer is right only while the warp happens to stay together.
// Conditions: warps in lockstep (Pascal and before); power-of-two block size from 32 on; two elements per thread.
// Lecture: Harris #5; Crovella 2020, "Reduction #5"; the checks against n and the zeros below a block size of 64 are
//   ours. Heidelberg 07 has an if in every step, and no volatile: reduce_unroll_guarded.
__device__ void warp_reduce(volatile T *partial, unsigned int tid)
{
    partial[tid] += partial[tid + 32];
    partial[tid] += partial[tid + 16];
    partial[tid] += partial[tid + 8];
    partial[tid] += partial[tid + 4];
    partial[tid] += partial[tid + 2];
    partial[tid] += partial[tid + 1];
}

extern "C" __global__ void reduce_unroll_volatile(const T *in, T *out, unsigned int n)
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

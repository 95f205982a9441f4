// reduce_unroll_guarded: unroll the last warp, as on Heidelberg's slide: an if for every step, and no volatile.
// Idea: from stride 32 on only one warp works. The slide trusts that its threads run in lockstep, so the last six steps
//   need no loop and no barrier; an if selects the threads that the tree still needs.
// Fixes (reduce_first_add): useless work. Without unrolling, all warps run every step of the loop and wait at every
//   barrier.
// Limit: it is right only if every step ends before the next one begins. No thread waits for another, and without
//   volatile or __syncwarp the compiler may load the numbers of a step before the step before has stored its own: for a
//   current GPU it does, and the answer is wrong.
// Conditions: warps in lockstep, and loads and stores in the order of the text; the block size is a power of two; two
//   elements per thread.
// Lecture: Heidelberg 07, "Reduction #5: unrolling the last warp", as printed. The slide says "no need for if", and has
//   one in every step. Ours is the check of both reads against n.
extern "C" __global__ void reduce_unroll_guarded(const T *in, T *out, unsigned int n)
{
    __shared__ T partial[BLOCK_SIZE];
    unsigned int tid = threadIdx.x;
    unsigned int i = blockIdx.x * (blockDim.x * 2) + threadIdx.x;

    // each thread loads two elements from global memory and adds them into shared memory
    partial[tid] = ((i < n) ? in[i] : T(0))
                 + ((i + blockDim.x < n) ? in[i + blockDim.x] : T(0));
    __syncthreads();

    // reduce in shared memory
    for (unsigned int stride = blockDim.x / 2; stride > 32; stride >>= 1) {
        if (tid < stride)
            partial[tid] += partial[tid + stride];
        __syncthreads();
    }
    if (tid < 32 && blockDim.x >= 64) partial[tid] += partial[tid + 32];
    if (tid < 16 && blockDim.x >= 32) partial[tid] += partial[tid + 16];
    if (tid < 8 && blockDim.x >= 16) partial[tid] += partial[tid + 8];
    if (tid < 4 && blockDim.x >= 8) partial[tid] += partial[tid + 4];
    if (tid < 2 && blockDim.x >= 4) partial[tid] += partial[tid + 2];
    if (tid < 1 && blockDim.x >= 2) partial[tid] += partial[tid + 1];

    // write the sum of this block
    if (tid == 0) out[blockIdx.x] = partial[0];
}

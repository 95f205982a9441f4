// trapezoid_any_block: the sum in shared memory, also for block sizes that are not powers of two.
// Idea: in each step of the tree a thread checks if there is a value at that distance. Near the end of a block of 100
//   threads there may be none.
// Fixes (trapezoid_shared_host): the condition that the block size is a power of two.
// Limit: partial warps. Threads are loaded by warps of 32: of 100 threads the fourth warp has 4, and its 28 other lanes
//   are idle in every instruction.
// Conditions: n >= 2 points; any block size. One sum per block is left to be combined.
// Lecture: Cooper 2014, "Warps".
static __device__ T f(T x)
{
    T g = 2. + x * (-1. + x * (0.5 - x * 0.2));  // Horner form
    return sin(g) + 2 * cos(g);
}

extern "C" __global__ void trapezoid_any_block(T *out, T a, T b, unsigned int n)
{
    __shared__ T f_val[BLOCK_SIZE];
    unsigned int tid = threadIdx.x;
    unsigned int i = blockIdx.x * blockDim.x + threadIdx.x;
    T h = (b - a) / (n - 1);

    // each thread evaluates one point; the two ends count half
    f_val[tid] = (i < n) ? f(a + i * h) * h : 0;
    if (i == 0 || i == n - 1) f_val[tid] /= 2;
    __syncthreads();

    // reduce in shared memory; no thread returns before the last barrier
    for (unsigned int jump = 1; jump < blockDim.x; jump *= 2) {
        if (tid % (2 * jump) == 0 && tid + jump < blockDim.x)
            f_val[tid] += f_val[tid + jump];
        __syncthreads();
    }

    // write the sum of this block
    if (tid == 0) out[blockIdx.x] = f_val[0];
}

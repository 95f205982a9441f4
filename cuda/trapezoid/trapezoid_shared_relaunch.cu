// trapezoid_shared_relaunch: a second kernel reduces the block sums until one is left.
// Idea: all blocks have finished when a kernel ends, so the end of a kernel is the barrier for the whole grid. The
//   block sums are an array again, and a second kernel reduces it by the same tree.
// Fixes (trapezoid_any_block): the sequential sum on the host.
// Limit: divergent branches. The working threads are spread over all warps: in the first five steps, jumps 1 to 16,
//   every warp works, with fewer and fewer active lanes.
// Conditions: n >= 2 points; the block size is a power of two. reduce_sums is launched until one block is left.
// Lecture: Cooper 2014, "Shared Memory" and "Synchronize", without the additional launch at its end; the lecture
//   returns before the barrier instead of our if.
static __device__ T f(T x)
{
    T g = 2. + x * (-1. + x * (0.5 - x * 0.2));  // Horner form
    return sin(g) + 2 * cos(g);
}

extern "C" __global__ void trapezoid_shared_relaunch(T *out, T a, T b, unsigned int n)
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
        if (tid % (2 * jump) == 0)
            f_val[tid] += f_val[tid + jump];
        __syncthreads();
    }

    // write the sum of this block
    if (tid == 0) out[blockIdx.x] = f_val[0];
}

// the same tree for the block sums that the launch before has left
extern "C" __global__ void reduce_sums(const T *in, T *out, unsigned int n)
{
    __shared__ T sums[BLOCK_SIZE];
    unsigned int tid = threadIdx.x;
    unsigned int i = blockIdx.x * blockDim.x + threadIdx.x;

    sums[tid] = (i < n) ? in[i] : 0;
    __syncthreads();

    for (unsigned int jump = 1; jump < blockDim.x; jump *= 2) {
        if (tid % (2 * jump) == 0)
            sums[tid] += sums[tid + jump];
        __syncthreads();
    }

    if (tid == 0) out[blockIdx.x] = sums[0];
}

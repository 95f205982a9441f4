// trapezoid_sequential: sequential addressing in both kernels.
// Idea: count differently. The first half of the block adds the values of the second half, then the first quarter
//   those of the second quarter, and so on.
// Fixes (trapezoid_shared_relaunch): most divergent branches: whole warps finish after each step, and only the last
//   five steps still diverge.
// Limit: one point per thread. Sine and cosine are evaluated once, and then most threads only wait; the second launch
//   takes longer than its arithmetic.
// Conditions: n >= 2 points; the block size is a power of two. reduce_sums is launched until one block is left.
// Lecture: Cooper 2014, "Divergent Branch: count differently", with a return before the barrier instead of our if.
static __device__ T f(T x)
{
    T g = 2. + x * (-1. + x * (0.5 - x * 0.2));  // Horner form
    return sin(g) + 2 * cos(g);
}

extern "C" __global__ void trapezoid_sequential(T *out, T a, T b, unsigned int n)
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
    for (unsigned int jump = blockDim.x / 2; jump > 0; jump /= 2) {
        if (tid < jump)
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

    for (unsigned int jump = blockDim.x / 2; jump > 0; jump /= 2) {
        if (tid < jump)
            sums[tid] += sums[tid + jump];
        __syncthreads();
    }

    if (tid == 0) out[blockIdx.x] = sums[0];
}

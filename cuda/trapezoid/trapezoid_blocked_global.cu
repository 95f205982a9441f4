// trapezoid_blocked_global: each block reduces its own points in global memory; the host adds the block sums.
// Idea: stay within one block, and let all its threads wait for each other before each step of the tree.
// Fixes (trapezoid_global_race): the wrong answer. No thread reads the values of another block, and __syncthreads()
//   makes sure that the values of its own block are written before they are read.
// Limit: the function values lie in global memory, and every step of the tree reads and writes them there. The host
//   copies all block sums and adds them one after the other.
// Conditions: n >= 2 points; the block size is a power of two. One sum per block is left to be combined.
// Lecture: Cooper 2014, "Blocks" and "Blocked Reduce". The lecture has two kernels, and a return before the barrier
//   instead of our if.
static __device__ T f(T x)
{
    T g = 2. + x * (-1. + x * (0.5 - x * 0.2));  // Horner form
    return sin(g) + 2 * cos(g);
}

extern "C" __global__ void trapezoid_blocked_global(T *f_val, T *out, T a, T b, unsigned int n)
{
    unsigned int tid = threadIdx.x;
    unsigned int i = blockIdx.x * blockDim.x + threadIdx.x;
    T h = (b - a) / (n - 1);

    // each thread evaluates one point; the two ends count half
    if (i < n) {
        f_val[i] = f(a + i * h) * h;
        if (i == 0 || i == n - 1) f_val[i] /= 2;
    }
    __syncthreads();

    // reduce in global memory, within the block; no thread returns before the last barrier
    for (unsigned int jump = 1; jump < blockDim.x; jump *= 2) {
        if (tid % (2 * jump) == 0 && i + jump < n)
            f_val[i] += f_val[i + jump];
        __syncthreads();
    }

    // write the sum of this block
    if (tid == 0) out[blockIdx.x] = f_val[i];
}

// trapezoid_global_race: one thread per point, and one reduction across all blocks. The answer is wrong.
// Idea: one thread evaluates one point. Then, in a second kernel, a tree in global memory: every second thread adds its
//   neighbour's value, then every fourth thread the value two places on, and so on over the whole array.
// Fixes (trapezoid_scalar): the loop over the points. All points are evaluated in parallel.
// Limit: no thread waits. Blocks run at different times, and so do warps within a block: a thread adds a value that its
//   owner has not finished. f_val[0] is summed before f_val[8] holds the sum of its eight.
// Conditions: n >= 2 points. It is in the catalogue to be seen failing: most runs give another value.
// Lecture: Cooper 2014, "CUDA Reduce" and "What's wrong?!". The checks against n are ours.
static __device__ T f(T x)
{
    T g = 2. + x * (-1. + x * (0.5 - x * 0.2));  // Horner form
    return sin(g) + 2 * cos(g);
}

// each thread evaluates one point; the two ends count half
extern "C" __global__ void evaluate(T *f_val, T a, T b, unsigned int n)
{
    unsigned int i = blockIdx.x * blockDim.x + threadIdx.x;
    T h = (b - a) / (n - 1);

    if (i >= n) return;
    f_val[i] = f(a + i * h) * h;
    if (i == 0 || i == n - 1) f_val[i] /= 2;
}

// reduce in global memory, across all blocks, without any synchronization
extern "C" __global__ void trapezoid_global_race(T *f_val, unsigned int n)
{
    unsigned int i = blockIdx.x * blockDim.x + threadIdx.x;

    for (unsigned int jump = 1; jump < n; jump *= 2) {
        if (i % (2 * jump) != 0) return;
        if (i + jump < n)
            f_val[i] += f_val[i + jump];
    }
}

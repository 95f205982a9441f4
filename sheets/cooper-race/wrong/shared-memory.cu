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

    // reduce in shared memory, within the block; no thread returns before the last barrier
    __shared__ T partial[1024];
    partial[tid] = (i < n) ? f_val[i] : T(0);
    __syncthreads();
    for (unsigned int jump = 1; jump < blockDim.x; jump *= 2) {
        if (tid % (2 * jump) == 0)
            partial[tid] += partial[tid + jump];
        __syncthreads();
    }

    // write the sum of this block
    if (tid == 0) out[blockIdx.x] = partial[0];
}

// atomic_max: out[i % ADDRESSES] becomes the largest number given to it, with one atomic per element.
// Idea: choose the larger of two numbers and keep it, as one indivisible step.
// Fixes: the same race as for sums: another thread may write between reading the old largest and writing the new one.
// Limit: atomics at one address are serialised, although most of them change nothing.
// Conditions: any n; ADDRESSES from 1 to 2^20; int32, as CUDA has no atomicMax for float or double. out holds zeros
//   before, so the result is the largest of 0 and the numbers.
// Lecture: Crovella 2020, "Other atomics".
extern "C" __global__ void atomic_max(const T *in, T *out, unsigned int n)
{
    unsigned int i = blockIdx.x * blockDim.x + threadIdx.x;

    if (i < n)
        atomicMax(&out[i % ADDRESSES], in[i]);
}

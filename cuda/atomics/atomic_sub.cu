// atomic_sub: out[i % ADDRESSES] -= in[i], with one atomic per element.
// Idea: subtract as one indivisible step.
// Fixes: the same race as for sums: another thread may write between reading the old value and writing the new one.
// Limit: atomics at one address are serialised. The GPU has no atomic subtraction: the compiler changes the sign of the
//   number and adds.
// Conditions: any n; ADDRESSES from 1 to 2^20; int32, as CUDA has no atomicSub for float or double. out holds zeros
//   before.
// Lecture: Crovella 2020, "Other atomics".
extern "C" __global__ void atomic_sub(const T *in, T *out, unsigned int n)
{
    unsigned int i = blockIdx.x * blockDim.x + threadIdx.x;

    if (i < n)
        atomicSub(&out[i % ADDRESSES], in[i]);
}

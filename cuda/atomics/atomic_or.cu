// atomic_or: out[i % ADDRESSES] collects every bit that a number given to it has, with one atomic per element.
// Idea: set bits, one indivisible step: a set of small numbers, or of flags, in one word.
// Fixes: reading the bits, setting one and writing all back, between which another thread may set its own.
// Limit: threads that meet at one address wait for each other, although most bits are soon set. atomicAnd
//   clears bits likewise.
// Conditions: any n; ADDRESSES from 1 to 2^20; whole numbers only. out holds zeros before.
// Lecture: Crovella 2020, "Other atomics": bitwise ops.
extern "C" __global__ void atomic_or(const T *in, T *out, unsigned int n)
{
    unsigned int i = blockIdx.x * blockDim.x + threadIdx.x;

    if (i < n)
        atomicOr(&out[i % ADDRESSES], in[i]);
}

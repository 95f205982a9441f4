// atomic_or: out[i % ADDRESSES] collects every bit that a number given to it has, with one atomic per element.
// Idea: set bits as one indivisible step. A word holds a set of small numbers, or 32 flags.
// Fixes: reading the word, setting a bit and writing the word back: another thread may set its own bit in between,
//   which is then lost.
// Limit: atomics at one address are serialised, although most bits are soon set. atomicAnd clears bits in the same way.
// Conditions: any n; ADDRESSES from 1 to 2^20; whole numbers only. out holds zeros before.
// Lecture: Crovella 2020, "Other atomics": bitwise ops.
extern "C" __global__ void atomic_or(const T *in, T *out, unsigned int n)
{
    unsigned int i = blockIdx.x * blockDim.x + threadIdx.x;

    if (i < n)
        atomicOr(&out[i % ADDRESSES], in[i]);
}

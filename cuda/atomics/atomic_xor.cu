// atomic_xor: out[i % ADDRESSES] flips the bits of every number given to it, with one atomic per element.
// Idea: flip bits as one indivisible step. Applying a number twice undoes it. The result is a checksum in any order.
// Fixes: reading the word, flipping bits and writing the word back: another thread may flip its own in between.
// Limit: atomics at one address are serialised.
// Conditions: any n; ADDRESSES from 1 to 2^20; whole numbers only. out holds zeros before.
// Lecture: Crovella 2020, "Other atomics": bitwise ops.
extern "C" __global__ void atomic_xor(const T *in, T *out, unsigned int n)
{
    unsigned int i = blockIdx.x * blockDim.x + threadIdx.x;

    if (i < n)
        atomicXor(&out[i % ADDRESSES], in[i]);
}

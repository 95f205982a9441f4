// atomic_and: every thread clears one bit of out[i % ADDRESSES], with one atomic per element.
// Idea: clear bits as one indivisible step. A word holds 32 flags; each thread clears one.
// Fixes: reading the word, clearing a bit and writing the word back: another thread may clear its own bit in between.
// Limit: atomics at one address are serialised, although most bits are soon cleared.
// Conditions: any n; ADDRESSES from 1 to 2^20; whole numbers only. The last five bits of in[i] say which bit it is. All
//   bits of out are set before, by the first launch.
// Lecture: Crovella 2020, "Other atomics": bitwise ops.
extern "C" __global__ void atomic_and(const T *in, T *out, unsigned int n)
{
    unsigned int i = blockIdx.x * blockDim.x + threadIdx.x;

    if (i < n)
        atomicAnd(&out[i % ADDRESSES], ~(1u << (in[i] & 31)));
}

// set all flags
extern "C" __global__ void set_bits(T *out)
{
    unsigned int i = blockIdx.x * blockDim.x + threadIdx.x;

    if (i < ADDRESSES) out[i] = -1;
}

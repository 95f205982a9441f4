// atomic_exch: every thread stores its number in one of ADDRESSES places and gets the number that was there.
// Idea: swap two values as one indivisible step. The old value belongs to exactly one thread.
// Fixes: two threads that read the same old value before either of them writes.
// Limit: atomics at one address are serialised, and each thread waits for its old value.
// Conditions: any n; ADDRESSES from 1 to 2^20; int32 and float32. out has n old values, then the places, which are zero
//   before. The order decides which thread gets which number; no number is lost or duplicated.
// Lecture: Crovella 2020, "Other atomics".
extern "C" __global__ void atomic_exch(const T *in, T *out, unsigned int n)
{
    unsigned int i = blockIdx.x * blockDim.x + threadIdx.x;
    T *places = out + n;

    if (i < n)
        out[i] = atomicExch(&places[i % ADDRESSES], in[i]);
}

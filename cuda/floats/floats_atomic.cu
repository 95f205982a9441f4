// floats_atomic: one atomic per element, in floats.
// Idea: every thread adds its number to one sum. All n additions happen one after the other at one address, in no fixed
//   order.
// Fixes (floats_serial): the single thread. The numbers are read in parallel.
// Limit: the chain of roundings is as long as the serial one: ones stop at 2^24. With other numbers the order decides
//   the last digits, so two runs of one program on one GPU differ.
// Conditions: any n. Up to 2^24 ones every order gives the exact answer; after that no order does.
// Lecture: Crovella 2020, "Atomics to the rescue" and "Further study": Floating point.
extern "C" __global__ void floats_atomic(const T *in, T *out, unsigned int n)
{
    unsigned int i = blockIdx.x * blockDim.x + threadIdx.x;

    if (i < n)
        atomicAdd(out, in[i]);
}

// atomic_dec: out[i % ADDRESSES] counts its threads down in turns of 9 to 0, with one atomicDec per element.
// Idea: atomicDec subtracts one unless it finds zero; then it starts again at the limit. The underflow is part of the
//   one indivisible step.
// Fixes: an atomicSub and a separate "if it is below zero, start again", between which another thread may come.
// Limit: threads that meet at one address wait for each other.
// Conditions: any n; ADDRESSES from 1 to 2^20; unsigned int only. out holds zeros before.
// Lecture: Crovella 2020, "Other atomics": decrement and account for underflow.
extern "C" __global__ void atomic_dec(const T *in, T *out, unsigned int n)
{
    unsigned int i = blockIdx.x * blockDim.x + threadIdx.x;

    if (i < n && in[i] != 0)  // the numbers are never zero; reading them makes it comparable with the others
        atomicDec((unsigned int *)&out[i % ADDRESSES], 9);
}

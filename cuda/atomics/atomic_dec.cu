// atomic_dec: out[i % ADDRESSES] counts its threads from 9 down to 0, again and again, by one atomicDec per element.
// Idea: atomicDec subtracts one unless it finds zero; then it starts again at the limit. The underflow is part of the
//   one indivisible step.
// Fixes: an atomicSub and then "if it is below zero, start again": another thread may come in between.
// Limit: atomics at one address are serialised.
// Conditions: any n; ADDRESSES from 1 to 2^20; unsigned int only. out holds zeros before.
// Lecture: Crovella 2020, "Other atomics": decrement and account for underflow.
extern "C" __global__ void atomic_dec(const T *in, T *out, unsigned int n)
{
    unsigned int i = blockIdx.x * blockDim.x + threadIdx.x;

    if (i < n && in[i] != 0)  // never zero; read only to make the time comparable with the other atomics
        atomicDec((unsigned int *)&out[i % ADDRESSES], 9);
}

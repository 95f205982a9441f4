// atomic_inc: out[i % ADDRESSES] counts its threads from 0 to 9, again and again, by one atomicInc per element.
// Idea: atomicInc adds one unless the limit is reached; then it starts again at zero. The rollover is part of the one
//   indivisible step.
// Fixes: an atomicAdd and then "if it is too large, make it zero": another thread may come in between.
// Limit: atomics at one address are serialised. atomicDec does the same downwards.
// Conditions: any n; ADDRESSES from 1 to 2^20; unsigned int only. out holds zeros before.
// Lecture: Crovella 2020, "Other atomics": increment and account for rollover.
extern "C" __global__ void atomic_inc(const T *in, T *out, unsigned int n)
{
    unsigned int i = blockIdx.x * blockDim.x + threadIdx.x;

    if (i < n && in[i] != 0)  // never zero; read only to make the time comparable with the other atomics
        atomicInc((unsigned int *)&out[i % ADDRESSES], 9);
}

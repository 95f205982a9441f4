// atomic_inc: out[i % ADDRESSES] counts its threads in turns of 0 to 9, with one atomicInc per element.
// Idea: atomicInc adds one unless the limit is reached; then it starts again at zero. The rollover is part of the one
//   indivisible step.
// Fixes: an atomicAdd and a separate "if it is too large, make it zero", between which another thread may come.
// Limit: threads that meet at one address wait for each other. atomicDec does the same downwards.
// Conditions: any n; ADDRESSES from 1 to 2^20; unsigned int only. out holds zeros before.
// Lecture: Crovella 2020, "Other atomics": increment and account for rollover.
extern "C" __global__ void atomic_inc(const T *in, T *out, unsigned int n)
{
    unsigned int i = blockIdx.x * blockDim.x + threadIdx.x;

    if (i < n && in[i] != 0)  // the numbers are never zero; reading them makes it comparable with the others
        atomicInc((unsigned int *)&out[i % ADDRESSES], 9);
}

// atomic_cas: every thread tries to take one of ADDRESSES places; the first one wins.
// Idea: write only if the place still holds 0, and learn from the old value which thread was first, as one indivisible
//   step.
// Fixes: two threads that both see an empty place and both take it.
// Limit: atomics at one address are serialised, although all but one come too late.
// Conditions: any n; ADDRESSES from 1 to 2^20; int32. out has n answers (1: won, 0: lost), then the places, which are
//   zero before and then hold the winner's number plus 1. Which thread wins depends on the order.
// Lecture: Crovella 2020, "Other atomics"; "atomicAdd implementation".
extern "C" __global__ void atomic_cas(T *out, unsigned int n)
{
    unsigned int i = blockIdx.x * blockDim.x + threadIdx.x;
    T *places = out + n;

    if (i < n)
        out[i] = (atomicCAS(&places[i % ADDRESSES], 0, T(i + 1)) == 0);
}

// reduce_atomic: one atomic per element.
// Idea: atomicAdd reads, modifies and writes as one indivisible operation (the instruction RED), so no addition is
//   lost.
// Fixes (reduce_racy): the lost additions of *out += in[i].
// Limit: atomics at one address are serialised. For integers the compiler adds up each warp first: n / 32 are left.
// Conditions: any n. The order of the additions is not fixed, so a float result can differ in its last digits.
// Lecture: Crovella 2020, "Atomics to the rescue".
extern "C" __global__ void reduce_atomic(const T *in, T *out, unsigned int n)
{
    unsigned int i = blockIdx.x * blockDim.x + threadIdx.x;

    if (i < n)
        atomicAdd(out, in[i]);
}

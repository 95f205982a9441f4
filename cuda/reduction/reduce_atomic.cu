// reduce_atomic: one atomic per element.
// Idea: atomicAdd reads, modifies and writes as one indivisible operation, so no addition is lost.
// Fixes: the lost additions of *out += in[i].
// Limit: all elements go to one address. The additions wait there in a single line, one after the other.
// Conditions: any n. The order of the additions is not fixed, so a float result can differ in its last digits.
// Lecture: Crovella 2020, "Atomics to the rescue".
extern "C" __global__ void reduce_atomic(const T *in, T *out, unsigned int n)
{
    unsigned int i = blockIdx.x * blockDim.x + threadIdx.x;

    if (i < n)
        atomicAdd(out, in[i]);
}

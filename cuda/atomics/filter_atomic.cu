// filter_atomic: keep the positive numbers, packed, with one atomic per kept number.
// Idea: my place in an order, drawn only by the threads whose number is kept.
// Fixes: gaps: the kept numbers lie next to each other.
// Limit: one counter for all, and one atomic for every kept number.
// Conditions: any n; the counter is zero before. The order of the kept numbers is open.
// Lecture: Crovella 2020, "Warp shuffle tips and tricks": atomic aggregation, before.
extern "C" __global__ void filter_atomic(const T *in, T *out, unsigned int n, unsigned int *kept)
{
    unsigned int i = blockIdx.x * blockDim.x + threadIdx.x;
    bool keep = i < n && in[i] > T(0);

    if (keep)
        out[atomicAdd(kept, 1)] = in[i];
}

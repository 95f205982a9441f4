// filter_atomic: keep the positive numbers, packed, with one atomic per kept number.
// Idea: each thread draws a place in the output, as in order_place, but only if its number is kept.
// Fixes (reserve_buffer): nothing; it is the plain way to write the kept numbers next to each other.
// Limit: one counter for all threads, and one atomic for every kept number.
// Conditions: any n; the counter is zero before. The order of the kept numbers is not fixed.
// Lecture: Crovella 2020, "Warp shuffle tips and tricks": atomic aggregation, before.
extern "C" __global__ void filter_atomic(const T *in, T *out, unsigned int n, unsigned int *kept)
{
    unsigned int i = blockIdx.x * blockDim.x + threadIdx.x;
    bool keep = i < n && in[i] > T(0);

    if (keep)
        out[atomicAdd(kept, 1)] = in[i];
}

// filter_aggregated: keep the positive numbers, packed, with one atomic per warp.
// Idea: the warp counts its kept numbers (ballot, popc), one lane reserves space for all of them, and a shuffle tells
//   the others where it begins. A lane counts the lanes below it that keep their numbers to find its own place.
// Fixes (filter_atomic): one atomic for every kept number in the source: up to 32 times fewer atomics.
// Limit: reading memory, now that atomics are few.
// Conditions: any n; the block size is a multiple of 32; the counter is zero before. The order of the warps varies.
// Lecture: Crovella 2020, "Warp shuffle tips and tricks": atomic aggregation.
extern "C" __global__ void filter_aggregated(const T *in, T *out, unsigned int n, unsigned int *kept)
{
    unsigned int i = blockIdx.x * blockDim.x + threadIdx.x;
    unsigned int lane = threadIdx.x % 32;
    bool keep = i < n && in[i] > T(0);

    // one bit per lane that keeps; the lowest of them is the leader
    unsigned int keepers = __ballot_sync(0xffffffff, keep);
    if (keepers == 0) return;  // the whole warp agrees
    unsigned int leader = __ffs(keepers) - 1;

    // the leader reserves space for all
    unsigned int first = 0;
    if (lane == leader) first = atomicAdd(kept, __popc(keepers));
    first = __shfl_sync(0xffffffff, first, leader);

    unsigned int below = keepers & ((1u << lane) - 1);
    if (keep)
        out[first + __popc(below)] = in[i];
}

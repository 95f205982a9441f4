// copy_offset: out[i] = in[i + OFFSET].
// Idea: neighbouring threads read neighbouring numbers, but the first one does not lie at the start of a sector.
// Fixes: nothing; OFFSET = 0 is the coalesced copy. All bytes between the first and the last number of a warp are used.
// Limit: one sector more per request, as the warp's 128 bytes straddle the border: 5 instead of 4, unless OFFSET is a
//   multiple of 8 (4-byte numbers). The next warp needs that sector as well and finds it in the cache.
// Conditions: any n; in has n + OFFSET numbers. The writes are coalesced and aligned.
// Lecture: CS121, "Memory coalescing".
extern "C" __global__ void copy_offset(const T *in, T *out, unsigned int n)
{
    unsigned int i = blockIdx.x * blockDim.x + threadIdx.x;

    if (i < n)
        out[i] = in[i + OFFSET];
}

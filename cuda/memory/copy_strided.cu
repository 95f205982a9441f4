// copy_strided: out[i] = in[STRIDE * i].
// Idea: neighbouring threads read numbers that lie STRIDE apart. A warp's 32 numbers are spread over STRIDE times as
//   much memory, and global memory moves whole pieces of 32 bytes (sectors), used or not.
// Fixes (copy_offset): nothing; STRIDE = 1 is the coalesced copy, and every larger stride shows what coalescing is
//   worth.
// Limit: sectors. With 4-byte numbers a request touches 4 sectors at stride 1, 4 * STRIDE up to stride 8, and then 32:
//   one for every thread, of which it uses an eighth.
// Conditions: any n; in has STRIDE * n numbers. The writes are coalesced.
// Lecture: CS121, "Memory coalescing".
extern "C" __global__ void copy_strided(const T *in, T *out, unsigned int n)
{
    unsigned int i = blockIdx.x * blockDim.x + threadIdx.x;

    if (i < n)
        out[i] = in[STRIDE * i];
}

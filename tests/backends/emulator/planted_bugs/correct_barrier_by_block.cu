// Bug: none: a whole block takes or skips the barrier
// Expect: ok
// Tool: racecheck synccheck memcheck initcheck
// Launch: 4 128 512
extern "C" __global__ void correct_barrier_by_block(const T *in, T *out, unsigned int n) {
    unsigned int t = threadIdx.x;
    unsigned int i = blockIdx.x * blockDim.x + t;
    __shared__ T s[128];
    s[t] = in[i];
    if (blockIdx.x % 2)
        __syncthreads();
    out[i] = s[t];
}

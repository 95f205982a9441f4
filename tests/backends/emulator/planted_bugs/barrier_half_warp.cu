// Bug: a barrier that a part of a warp skips
// Expect: divergent-barrier
// Tool: synccheck
// Launch: 2 64 128
extern "C" __global__ void barrier_half_warp(const T *in, T *out, unsigned int n) {
    unsigned int t = threadIdx.x;
    unsigned int i = blockIdx.x * blockDim.x + t;
    __shared__ T s[64];
    s[t] = in[i];
    if (t < 40)
        __syncthreads();
    out[i] = s[t];
}

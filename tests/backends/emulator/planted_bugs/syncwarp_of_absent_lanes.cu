// Bug: a __syncwarp names lanes that wait elsewhere
// Expect: divergent-barrier
// Tool: synccheck
// Launch: 2 32 64
extern "C" __global__ void syncwarp_of_absent_lanes(const T *in, T *out, unsigned int n) {
    unsigned int t = threadIdx.x;
    unsigned int i = blockIdx.x * blockDim.x + t;
    __shared__ T s[32];
    s[t] = in[i];
    if (t < 16)
        __syncwarp(0xffffffff);
    else
        __syncwarp(0xffff0000);
    out[i] = s[t ^ 1];
}

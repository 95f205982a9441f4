// Bug: lanes exchange through shared memory without __syncwarp
// Expect: warp-race
// Tool: racecheck
// Launch: 2 64 128
extern "C" __global__ void warp_exchange_no_syncwarp(const T *in, T *out, unsigned int n) {
    unsigned int t = threadIdx.x;
    unsigned int i = blockIdx.x * blockDim.x + t;
    __shared__ T s[64];
    volatile T *words = s;
    words[t] = in[i];
    out[i] = words[t ^ 1];
}

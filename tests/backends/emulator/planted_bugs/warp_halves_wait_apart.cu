// Bug: each half of a warp waits for itself and reads the other half's words
// Expect: warp-race
// Tool: racecheck
// Launch: 2 32 64
extern "C" __global__ void warp_halves_wait_apart(const T *in, T *out, unsigned int n) {
    unsigned int t = threadIdx.x;
    unsigned int i = blockIdx.x * blockDim.x + t;
    __shared__ T s[32];
    s[t] = in[i];
    __syncwarp(t < 16 ? 0x0000ffff : 0xffff0000);
    out[i] = s[31 - t];
}

// Bug: one __syncwarp per level: a lane overwrites what its neighbour still has to read
// Expect: warp-race
// Tool: racecheck
// Launch: 4 32 128
extern "C" __global__ void warp_tail_one_syncwarp(const T *in, T *out, unsigned int n) {
    unsigned int t = threadIdx.x;
    unsigned int i = blockIdx.x * blockDim.x + t;
    __shared__ T s[48];
    s[t] = in[i];
    s[t % 16 + 32] = 0;
    __syncwarp();
    for (unsigned int k = 16; k > 0; k /= 2) {
        s[t] += s[t + k];
        __syncwarp();
    }
    if (t == 0)
        out[blockIdx.x] = s[0];
}

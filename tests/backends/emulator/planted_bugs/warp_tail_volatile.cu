// Bug: the last warp of a tree trusts volatile and lockstep
// Expect: warp-race
// Tool: racecheck
// Launch: 4 64 256
extern "C" __global__ void warp_tail_volatile(const T *in, T *out, unsigned int n) {
    unsigned int t = threadIdx.x;
    unsigned int i = blockIdx.x * blockDim.x + t;
    __shared__ T s[96];
    s[t] = in[i];
    __syncthreads();
    if (t < 32) {
        volatile T *words = s;
        words[t] += words[t + 32];
        words[t] += words[t + 16];
        words[t] += words[t + 8];
        words[t] += words[t + 4];
        words[t] += words[t + 2];
        words[t] += words[t + 1];
    }
    if (t == 0)
        out[blockIdx.x] = s[0];
}

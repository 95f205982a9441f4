// Bug: even and odd lanes wait at two different barriers
// Expect: divergent-barrier
// Tool: synccheck
// Launch: 2 64 128
extern "C" __global__ void barrier_in_both_branches(const T *in, T *out, unsigned int n) {
    unsigned int t = threadIdx.x;
    unsigned int i = blockIdx.x * blockDim.x + t;
    __shared__ T s[64];
    s[t] = in[i];
    if (t % 2) {
        s[t] += 1;
        __syncthreads();
    } else {
        s[t] += 2;
        __syncthreads();
    }
    out[i] = s[t];
}

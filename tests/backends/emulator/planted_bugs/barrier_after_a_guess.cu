// Bug: a barrier depends on the data of each lane
// Expect: divergent-barrier
// Tool: synccheck
// Launch: 2 64 128
extern "C" __global__ void barrier_after_a_guess(const T *in, T *out, unsigned int n) {
    unsigned int t = threadIdx.x;
    unsigned int i = blockIdx.x * blockDim.x + t;
    __shared__ T s[64];
    s[t] = in[i];
    if (in[i] % 5 != 0)
        __syncthreads();
    out[i] = s[t];
}

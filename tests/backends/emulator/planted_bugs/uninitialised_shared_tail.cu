// Bug: the last block adds words that its missing threads never filled
// Expect: uninitialised-shared
// Tool: none (initcheck looks at global memory only)
// Launch: 4 128 450
extern "C" __global__ void uninitialised_shared_tail(const T *in, T *out, unsigned int n) {
    unsigned int t = threadIdx.x;
    unsigned int i = blockIdx.x * blockDim.x + t;
    __shared__ T s[128];
    if (i < n)
        s[t] = in[i];
    __syncthreads();
    for (unsigned int k = 64; k > 0; k /= 2) {
        if (t < k)
            s[t] += s[t + k];
        __syncthreads();
    }
    if (t == 0)
        out[blockIdx.x] = s[0];
}

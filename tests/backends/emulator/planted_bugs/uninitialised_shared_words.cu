// Bug: the last words of the shared array are read and were never written
// Expect: uninitialised-shared
// Tool: none (initcheck looks at global memory only)
// Launch: 2 64 128
extern "C" __global__ void uninitialised_shared_words(const T *in, T *out, unsigned int n) {
    unsigned int t = threadIdx.x;
    unsigned int i = blockIdx.x * blockDim.x + t;
    __shared__ T s[64];
    if (t < 60)
        s[t] = in[i];
    __syncthreads();
    out[i] = s[t];
}

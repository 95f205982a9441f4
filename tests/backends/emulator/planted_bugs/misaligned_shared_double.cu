// Bug: a double is read from shared memory at an odd word
// Expect: misaligned
// Tool: memcheck
// Launch: 1 32 64
extern "C" __global__ void misaligned_shared_double(const T *in, T *out, unsigned int n) {
    unsigned int t = threadIdx.x;
    unsigned int i = blockIdx.x * blockDim.x + t;
    __shared__ T s[66];
    s[t] = in[t];
    s[t + 32] = in[t + 32];
    s[t % 2 + 64] = 0;
    __syncthreads();
    out[i] = (T)*(double *)(s + 2 * t % 32 + 1);
}

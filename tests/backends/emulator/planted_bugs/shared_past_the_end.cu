// Bug: the tail of a tree reads past the shared array
// Expect: out-of-bounds
// Tool: memcheck
// Launch: 4 32 128
extern "C" __global__ void shared_past_the_end(const T *in, T *out, unsigned int n) {
    unsigned int t = threadIdx.x;
    unsigned int i = blockIdx.x * blockDim.x + t;
    __shared__ T s[32];
    s[t] = in[i];
    __syncthreads();
    out[i] = s[t + 16];
}

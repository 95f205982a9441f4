// Bug: thread 0 reads the word before the shared array
// Expect: out-of-bounds
// Tool: memcheck
// Launch: 4 128 512
extern "C" __global__ void shared_before_the_start(const T *in, T *out, unsigned int n) {
    unsigned int t = threadIdx.x;
    unsigned int i = blockIdx.x * blockDim.x + t;
    __shared__ T s[128];
    s[t] = in[i];
    __syncthreads();
    out[i] = s[t] - s[(int)t - 1];
}

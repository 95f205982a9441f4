// Bug: the last block writes past the output: the guard is missing
// Expect: out-of-bounds
// Tool: memcheck
// Launch: 4 128 500
extern "C" __global__ void global_write_past_the_end(const T *in, T *out, unsigned int n) {
    unsigned int t = threadIdx.x;
    unsigned int i = blockIdx.x * blockDim.x + t;
    out[i] = i < n ? in[i] : 0;
}

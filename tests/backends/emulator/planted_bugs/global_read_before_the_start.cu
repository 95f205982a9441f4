// Bug: thread 0 reads the element before the first
// Expect: out-of-bounds
// Tool: memcheck
// Launch: 4 128 512
extern "C" __global__ void global_read_before_the_start(const T *in, T *out, unsigned int n) {
    unsigned int t = threadIdx.x;
    unsigned int i = blockIdx.x * blockDim.x + t;
    out[i] = in[i] - in[(int)i - 1];
}

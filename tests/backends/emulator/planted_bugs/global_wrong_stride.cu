// Bug: a stride in bytes is used as a stride in elements
// Expect: out-of-bounds
// Tool: memcheck
// Launch: 4 128 512
extern "C" __global__ void global_wrong_stride(const T *in, T *out, unsigned int n) {
    unsigned int t = threadIdx.x;
    unsigned int i = blockIdx.x * blockDim.x + t;
    unsigned int step = gridDim.x * blockDim.x * sizeof(T);
    out[i] = in[i] + in[i + step / 2];
}

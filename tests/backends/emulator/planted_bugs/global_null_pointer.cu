// Bug: a pointer that was never set
// Expect: out-of-bounds
// Tool: memcheck
// Launch: 4 128 512
extern "C" __global__ void global_null_pointer(const T *in, T *out, unsigned int n) {
    unsigned int t = threadIdx.x;
    unsigned int i = blockIdx.x * blockDim.x + t;
    const T *other = (const T *)(unsigned long long)(n / 100000);
    out[i] = in[i] + other[i];
}

// Bug: a guard with <= instead of <
// Expect: out-of-bounds
// Tool: memcheck
// Launch: 4 128 500
extern "C" __global__ void global_off_by_one(const T *in, T *out, unsigned int n) {
    unsigned int t = threadIdx.x;
    unsigned int i = blockIdx.x * blockDim.x + t;
    if (i <= n)
        out[i] = i < n ? in[i] : 0;
}

// Bug: the last block reads past the input: the guard is missing
// Expect: out-of-bounds
// Tool: memcheck
// Launch: 4 128 500
extern "C" __global__ void global_read_past_the_end(const T *in, T *out, unsigned int n) {
    unsigned int t = threadIdx.x;
    unsigned int i = blockIdx.x * blockDim.x + t;
    T value = ((const volatile T *)in)[i];
    if (i < n)
        out[i] = value;
}

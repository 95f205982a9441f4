// Bug: two elements are stored at once to an odd element
// Expect: misaligned
// Tool: memcheck
// Launch: 1 32 256
extern "C" __global__ void misaligned_store(const T *in, T *out, unsigned int n) {
    unsigned int t = threadIdx.x;
    unsigned int i = blockIdx.x * blockDim.x + t;
    *(int2 *)(out + 2 * t + 1) = make_int2(in[i], 0);
}

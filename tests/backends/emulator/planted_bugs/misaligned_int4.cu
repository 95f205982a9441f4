// Bug: four elements are loaded at once from an address that is no multiple of 16
// Expect: misaligned
// Tool: memcheck
// Launch: 1 32 256
extern "C" __global__ void misaligned_int4(const T *in, T *out, unsigned int n) {
    unsigned int t = threadIdx.x;
    unsigned int i = blockIdx.x * blockDim.x + t;
    int4 four = *(const int4 *)(in + 1 + 4 * t);
    out[i] = four.x + four.y + four.z + four.w;
}

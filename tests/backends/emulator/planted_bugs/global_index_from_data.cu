// Bug: an index that comes from the data is not checked
// Expect: out-of-bounds
// Tool: memcheck
// Launch: 4 128 512
extern "C" __global__ void global_index_from_data(const T *in, T *out, unsigned int n) {
    unsigned int t = threadIdx.x;
    unsigned int i = blockIdx.x * blockDim.x + t;
    out[i] = in[in[i] * 1000];
}

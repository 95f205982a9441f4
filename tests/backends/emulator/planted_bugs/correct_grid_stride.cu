// Bug: none: a loop over the grid that ends at n
// Expect: ok
// Tool: racecheck synccheck memcheck initcheck
// Launch: 2 64 500
extern "C" __global__ void correct_grid_stride(const T *in, T *out, unsigned int n) {
    unsigned int t = threadIdx.x;
    unsigned int i = blockIdx.x * blockDim.x + t;
    T sum = 0;
    for (unsigned int k = i; k < n; k += gridDim.x * blockDim.x)
        sum += in[k];
    atomicAdd(out, sum);
}

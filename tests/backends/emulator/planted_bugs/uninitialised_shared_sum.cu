// Bug: threads add to a shared sum that was never set to zero
// Expect: uninitialised-shared
// Tool: none (initcheck looks at global memory only)
// Launch: 4 128 512
extern "C" __global__ void uninitialised_shared_sum(const T *in, T *out, unsigned int n) {
    unsigned int t = threadIdx.x;
    unsigned int i = blockIdx.x * blockDim.x + t;
    __shared__ T sum;
    atomicAdd(&sum, in[i]);
    __syncthreads();
    if (t == 0)
        out[blockIdx.x] = sum;
}

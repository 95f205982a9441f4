// Bug: none: shared atomics between barriers, then global atomics
// Expect: ok
// Tool: racecheck synccheck memcheck initcheck
// Launch: 4 128 512
extern "C" __global__ void correct_histogram(const T *in, T *out, unsigned int n) {
    unsigned int t = threadIdx.x;
    unsigned int i = blockIdx.x * blockDim.x + t;
    __shared__ T bins[8];
    if (t < 8)
        bins[t] = 0;
    __syncthreads();
    atomicAdd(&bins[in[i] & 7], 1);
    __syncthreads();
    if (t < 8)
        atomicAdd(&out[t], bins[t]);
}

// Bug: bins are counted with ++ and not with an atomic
// Expect: shared-race
// Tool: racecheck
// Launch: 4 128 512
extern "C" __global__ void shared_histogram_plain(const T *in, T *out, unsigned int n) {
    unsigned int t = threadIdx.x;
    unsigned int i = blockIdx.x * blockDim.x + t;
    __shared__ T bins[8];
    if (t < 8)
        bins[t] = 0;
    __syncthreads();
    bins[in[i] & 7]++;
    __syncthreads();
    if (t < 8)
        out[blockIdx.x * 8 + t] = bins[t];
}

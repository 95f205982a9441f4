// Bug: one warp reads a word that another has not yet written: __syncthreads is missing
// Expect: shared-race
// Tool: racecheck
// Launch: 4 128 512
extern "C" __global__ void shared_read_before_write(const T *in, T *out, unsigned int n) {
    unsigned int t = threadIdx.x;
    unsigned int i = blockIdx.x * blockDim.x + t;
    __shared__ T s[128];
    s[t] = in[i];
    out[i] = s[127 - t];
}

// Bug: a warp overwrites words that another still has to read: the second __syncthreads is missing
// Expect: shared-race
// Tool: racecheck
// Launch: 4 128 512
extern "C" __global__ void shared_write_before_read(const T *in, T *out, unsigned int n) {
    unsigned int t = threadIdx.x;
    unsigned int i = blockIdx.x * blockDim.x + t;
    __shared__ T s[128];
    s[t] = in[i];
    __syncthreads();
    T neighbour = s[(t + 32) % 128];
    s[t] = neighbour + 1;
    __syncthreads();
    out[i] = s[t];
}

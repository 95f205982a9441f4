// Bug: the next round of a loop fills the buffer while other warps still read the last round
// Expect: shared-race
// Tool: racecheck
// Launch: 4 128 512
extern "C" __global__ void shared_buffer_reused(const T *in, T *out, unsigned int n) {
    unsigned int t = threadIdx.x;
    unsigned int i = blockIdx.x * blockDim.x + t;
    __shared__ T s[128];
    T sum = 0;
    for (int round = 0; round < 3; ++round) {
        s[t] = in[i] + round;
        __syncthreads();
        sum += s[127 - t];
    }
    out[i] = sum;
}

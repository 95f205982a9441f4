// Bug: lanes go through a loop with a barrier a different number of times
// Expect: divergent-barrier
// Tool: synccheck
// Launch: 2 64 128
extern "C" __global__ void barrier_in_a_loop_of_different_lengths(const T *in, T *out, unsigned int n) {
    unsigned int t = threadIdx.x;
    unsigned int i = blockIdx.x * blockDim.x + t;
    __shared__ T s[64];
    s[t] = in[i];
    for (unsigned int k = 0; k < t % 3; ++k) {
        s[t] += 1;
        __syncthreads();
    }
    out[i] = s[t];
}

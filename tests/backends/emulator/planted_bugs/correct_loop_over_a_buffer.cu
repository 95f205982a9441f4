// Bug: none: a barrier before the buffer is read and before it is filled again
// Expect: ok
// Tool: racecheck synccheck memcheck initcheck
// Launch: 4 128 512
extern "C" __global__ void correct_loop_over_a_buffer(const T *in, T *out, unsigned int n) {
    unsigned int t = threadIdx.x;
    unsigned int i = blockIdx.x * blockDim.x + t;
    __shared__ T s[128];
    T sum = 0;
    for (int round = 0; round < 3; ++round) {
        s[t] = in[i] + round;
        __syncthreads();
        sum += s[127 - t];
        __syncthreads();
    }
    out[i] = sum;
}

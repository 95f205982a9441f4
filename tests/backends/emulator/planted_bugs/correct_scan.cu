// Bug: none: two buffers alternate, so one barrier per step is enough
// Expect: ok
// Tool: racecheck synccheck memcheck initcheck
// Launch: 4 128 512
extern "C" __global__ void correct_scan(const T *in, T *out, unsigned int n) {
    unsigned int t = threadIdx.x;
    unsigned int i = blockIdx.x * blockDim.x + t;
    __shared__ T s[2][128];
    int from = 0;
    s[0][t] = in[i];
    __syncthreads();
    for (unsigned int k = 1; k < 128; k *= 2) {
        s[1 - from][t] = s[from][t] + (t >= k ? s[from][t - k] : 0);
        from = 1 - from;
        __syncthreads();
    }
    out[i] = s[from][t];
}

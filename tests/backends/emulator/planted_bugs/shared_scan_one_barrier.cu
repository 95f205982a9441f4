// Bug: a running sum in place with one barrier per step: some threads read the new value, some the old one
// Expect: shared-race, warp-race
// Tool: racecheck
// Launch: 4 128 512
extern "C" __global__ void shared_scan_one_barrier(const T *in, T *out, unsigned int n) {
    unsigned int t = threadIdx.x;
    unsigned int i = blockIdx.x * blockDim.x + t;
    __shared__ T s[128];
    s[t] = in[i];
    for (unsigned int k = 1; k < 128; k *= 2) {
        __syncthreads();
        if (t >= k)
            s[t] += s[t - k];
    }
    __syncthreads();
    out[i] = s[t];
}

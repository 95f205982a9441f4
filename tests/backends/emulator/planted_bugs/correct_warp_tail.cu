// Bug: none: __syncwarp between reading and writing, and between levels
// Expect: ok
// Tool: racecheck synccheck memcheck initcheck
// Launch: 4 64 256
extern "C" __global__ void correct_warp_tail(const T *in, T *out, unsigned int n) {
    unsigned int t = threadIdx.x;
    unsigned int i = blockIdx.x * blockDim.x + t;
    __shared__ T s[64];
    s[t] = in[i];
    __syncthreads();
    if (t < 32) {
        T sum = s[t] + s[t + 32];
        s[t] = sum;
        __syncwarp();
        for (unsigned int k = 16; k > 0; k /= 2) {
            if (t < k)
                sum += s[t + k];
            __syncwarp();
            s[t] = sum;
            __syncwarp();
        }
    }
    if (t == 0)
        out[blockIdx.x] = s[0];
}

// Bug: none: missing elements count as zero, and every thread reaches every barrier
// Expect: ok
// Tool: racecheck synccheck memcheck initcheck
// Launch: 4 128 450
extern "C" __global__ void correct_tree_of_a_ragged_block(const T *in, T *out, unsigned int n) {
    unsigned int t = threadIdx.x;
    unsigned int i = blockIdx.x * blockDim.x + t;
    __shared__ T s[128];
    s[t] = i < n ? in[i] : 0;
    __syncthreads();
    for (unsigned int k = 64; k > 0; k /= 2) {
        if (t < k)
            s[t] += s[t + k];
        __syncthreads();
    }
    if (t == 0)
        out[blockIdx.x] = s[0];
}

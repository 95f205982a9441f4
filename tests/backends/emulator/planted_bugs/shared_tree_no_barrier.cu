// Bug: a tree without __syncthreads between its levels
// Expect: shared-race, warp-race
// Tool: racecheck
// Launch: 4 128 512
extern "C" __global__ void shared_tree_no_barrier(const T *in, T *out, unsigned int n) {
    unsigned int t = threadIdx.x;
    unsigned int i = blockIdx.x * blockDim.x + t;
    __shared__ T s[128];
    s[t] = in[i];
    __syncthreads();
    for (unsigned int k = 64; k > 0; k /= 2)
        if (t < k)
            s[t] += s[t + k];
    __syncthreads();
    if (t == 0)
        out[blockIdx.x] = s[0];
}

// Bug: twenty lanes add as if they were thirty-two: the sum contains values of absent lanes
// Expect: warp-race
// Tool: none (synccheck does not report a read from an absent lane)
// Launch: 2 64 128
extern "C" __global__ void shuffle_tree_too_high(const T *in, T *out, unsigned int n) {
    unsigned int t = threadIdx.x;
    if (t < 20) {
        T sum = in[blockIdx.x * blockDim.x + t];
        for (unsigned int d = 16; d > 0; d /= 2)
            sum += __shfl_down_sync(0xfffff, sum, d);
        if (t == 0)
            out[blockIdx.x] = sum;
    }
}

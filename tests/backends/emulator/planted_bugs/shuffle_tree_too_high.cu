// Bug: twenty lanes add as if they were thirty-two: the sum holds what nobody gave
// Expect: warp-race
// Tool: none (synccheck says nothing of a lane that is read and not there)
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

// Bug: a shuffle names lanes that do not execute it
// Expect: divergent-barrier, warp-race
// Tool: synccheck
// Launch: 2 64 128
extern "C" __global__ void shuffle_of_absent_lanes(const T *in, T *out, unsigned int n) {
    unsigned int t = threadIdx.x;
    unsigned int i = blockIdx.x * blockDim.x + t;
    T value = in[i];
    if (t % 32 < 16)
        value += __shfl_down_sync(0xffffffff, value, 1);
    out[i] = value * 3;
}

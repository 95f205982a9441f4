// Bug: none: lanes exchange registers, and warps one shared word each
// Expect: ok
// Tool: racecheck synccheck memcheck initcheck
// Launch: 4 128 512
extern "C" __global__ void correct_shuffle(const T *in, T *out, unsigned int n) {
    unsigned int t = threadIdx.x;
    unsigned int i = blockIdx.x * blockDim.x + t;
    __shared__ T sums[4];
    T value = in[i];
    for (int k = 16; k > 0; k /= 2)
        value += __shfl_down_sync(0xffffffff, value, k);
    if (t % 32 == 0)
        sums[t / 32] = value;
    __syncthreads();
    if (t == 0)
        out[blockIdx.x] = sums[0] + sums[1] + sums[2] + sums[3];
}

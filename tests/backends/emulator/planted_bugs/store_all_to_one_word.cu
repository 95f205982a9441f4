// Bug: every thread stores its own value to one shared word
// Expect: shared-race
// Tool: racecheck
// Launch: 4 128 512
extern "C" __global__ void store_all_to_one_word(const T *in, T *out, unsigned int n) {
    unsigned int t = threadIdx.x;
    unsigned int i = blockIdx.x * blockDim.x + t;
    __shared__ T last;
    last = in[i];
    __syncthreads();
    out[i] = last;
}

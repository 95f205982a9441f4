// Bug: four warps store different values to the same words
// Expect: shared-race
// Tool: racecheck
// Launch: 4 128 512
extern "C" __global__ void shared_warps_store_one_word(const T *in, T *out, unsigned int n) {
    unsigned int t = threadIdx.x;
    unsigned int i = blockIdx.x * blockDim.x + t;
    __shared__ T s[32];
    s[t % 32] = in[i];
    __syncthreads();
    out[i] = s[t % 32];
}

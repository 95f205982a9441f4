// Bug: two lanes of one store write different values to one shared word
// Expect: shared-race
// Tool: racecheck
// Launch: 4 128 512
extern "C" __global__ void store_pairs_collide(const T *in, T *out, unsigned int n) {
    unsigned int t = threadIdx.x;
    unsigned int i = blockIdx.x * blockDim.x + t;
    __shared__ T s[64];
    s[t / 2] = in[i];
    __syncthreads();
    out[i] = s[t / 2];
}

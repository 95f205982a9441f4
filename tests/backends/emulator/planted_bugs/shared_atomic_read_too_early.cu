// Bug: a block's sum is read while others still add to it
// Expect: shared-race
// Tool: none (racecheck does not report an atomic and a plain read of one word)
// Launch: 4 128 512
extern "C" __global__ void shared_atomic_read_too_early(const T *in, T *out, unsigned int n) {
    unsigned int t = threadIdx.x;
    unsigned int i = blockIdx.x * blockDim.x + t;
    __shared__ T sum;
    if (t == 0)
        sum = 0;
    __syncthreads();
    atomicAdd(&sum, in[i]);
    if (t == 0)
        out[blockIdx.x] = sum;
}

// Bug: threads add to a sum that thread 0 may not have set to zero yet
// Expect: shared-race, warp-race
// Tool: racecheck
// Launch: 4 128 512
extern "C" __global__ void shared_atomic_before_zero(const T *in, T *out, unsigned int n) {
    unsigned int t = threadIdx.x;
    unsigned int i = blockIdx.x * blockDim.x + t;
    __shared__ T sum;
    if (t == 0)
        sum = 0;
    atomicAdd(&sum, in[i]);
    __syncthreads();
    if (t == 0)
        out[blockIdx.x] = sum;
}

// Bug: volatile sums and a ticket, but no fence: volatile does not order them
// Expect: global-race
// Tool: none (racecheck looks at shared memory only)
// Launch: 4 128 512
extern "C" __global__ void global_volatile_sums_no_fence(const T *in, volatile T *out, unsigned int n) {
    unsigned int t = threadIdx.x;
    unsigned int i = blockIdx.x * blockDim.x + t;
    __shared__ bool last;
    if (t == 0) {
        out[1 + blockIdx.x] = in[i];
        last = atomicAdd((T *)out, 1) == gridDim.x - 1;
    }
    __syncthreads();
    if (last && t == 0) {
        T total = 0;
        for (unsigned int block = 0; block < gridDim.x; ++block)
            total += out[1 + block];
        out[8] = total;
    }
}

// Bug: none: a fence before the ticket, and volatile reads after it
// Expect: ok
// Tool: racecheck synccheck memcheck initcheck
// Launch: 4 128 512
extern "C" __global__ void correct_ticket(const T *in, T *out, unsigned int n) {
    unsigned int t = threadIdx.x;
    unsigned int i = blockIdx.x * blockDim.x + t;
    __shared__ bool last;
    if (t == 0) {
        out[1 + blockIdx.x] = in[i];
        __threadfence();
        last = atomicAdd(out, 1) == gridDim.x - 1;
    }
    __syncthreads();
    if (last && t == 0) {
        __threadfence();
        volatile T *sums = out + 1;
        T total = 0;
        for (unsigned int block = 0; block < gridDim.x; ++block)
            total += sums[block];
        out[8] = total;
    }
}

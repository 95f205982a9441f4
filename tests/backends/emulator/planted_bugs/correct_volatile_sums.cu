// Bug: none: volatile sums, a fence, and a ticket
// Expect: ok
// Tool: racecheck synccheck memcheck initcheck
// Launch: 4 128 512
extern "C" __global__ void correct_volatile_sums(const T *in, volatile T *out, unsigned int n) {
    unsigned int t = threadIdx.x;
    unsigned int i = blockIdx.x * blockDim.x + t;
    __shared__ bool last;
    if (t == 0) {
        out[1 + blockIdx.x] = in[i];
        __threadfence();
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

// Bug: a thread adds to its neighbour's element, which the neighbour writes
// Expect: global-race
// Tool: none (racecheck looks at shared memory only)
// Launch: 4 128 512
extern "C" __global__ void global_neighbour_no_barrier(const T *in, T *out, unsigned int n) {
    unsigned int t = threadIdx.x;
    unsigned int i = blockIdx.x * blockDim.x + t;
    out[i] = in[i];
    if (i > 0)
        out[i - 1] += 1;
}

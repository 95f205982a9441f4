// Bug: block 1 reads a word that block 0 writes in the same launch
// Expect: global-race
// Tool: none (racecheck looks at shared memory only)
// Launch: 4 128 512
extern "C" __global__ void global_read_of_another_block(const T *in, T *out, unsigned int n) {
    unsigned int t = threadIdx.x;
    unsigned int i = blockIdx.x * blockDim.x + t;
    if (blockIdx.x == 0)
        out[t] = in[i];
    if (blockIdx.x == 1)
        out[128 + t] = out[t];
}

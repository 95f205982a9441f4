// Bug: every block stores its own result to element 0
// Expect: global-race
// Tool: none (racecheck looks at shared memory only)
// Launch: 4 128 512
extern "C" __global__ void global_blocks_store_one_word(const T *in, T *out, unsigned int n) {
    unsigned int t = threadIdx.x;
    unsigned int i = blockIdx.x * blockDim.x + t;
    if (t == 0)
        out[0] = in[i];
}

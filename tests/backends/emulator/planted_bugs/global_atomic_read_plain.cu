// Bug: a block reads a sum while other blocks still add to it
// Expect: global-race
// Tool: none (racecheck looks at shared memory only)
// Launch: 4 128 512
extern "C" __global__ void global_atomic_read_plain(const T *in, T *out, unsigned int n) {
    unsigned int t = threadIdx.x;
    unsigned int i = blockIdx.x * blockDim.x + t;
    atomicAdd(out, in[i]);
    if (t == 0)
        out[1 + blockIdx.x] = out[0];
}

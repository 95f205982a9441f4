// Bug: elements move one place to the left in place, across warps and blocks
// Expect: global-race
// Tool: none (racecheck looks at shared memory only)
// Launch: 4 128 512
extern "C" __global__ void global_shift_in_place(const T *in, T *out, unsigned int n) {
    unsigned int t = threadIdx.x;
    unsigned int i = blockIdx.x * blockDim.x + t;
    if (i + 1 < n)
        out[i] = out[i + 1] + in[i];
}

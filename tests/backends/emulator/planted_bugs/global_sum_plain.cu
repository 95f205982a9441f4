// Bug: every thread adds to one element with a plain +=
// Expect: global-race
// Tool: none (racecheck looks at shared memory only)
// Launch: 4 128 512
extern "C" __global__ void global_sum_plain(const T *in, T *out, unsigned int n) {
    unsigned int t = threadIdx.x;
    unsigned int i = blockIdx.x * blockDim.x + t;
    *out += in[i];
}

// Bug: a counter that steps over its end
// Expect: step-limit
// Tool: none (it never ends)
// Launch: 1 32 32
extern "C" __global__ void endless_loop(const T *in, T *out, unsigned int n) {
    unsigned int t = threadIdx.x;
    unsigned int i = blockIdx.x * blockDim.x + t;
    volatile T *words = out;
    for (unsigned int k = 1; k != 0; k += 2)
        words[i] = in[i] + k;
}

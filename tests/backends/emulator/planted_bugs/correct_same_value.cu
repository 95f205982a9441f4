// Bug: none: many threads store the same value to one word
// Expect: ok
// Tool: racecheck synccheck memcheck initcheck
// Launch: 4 128 512
extern "C" __global__ void correct_same_value(const T *in, T *out, unsigned int n) {
    unsigned int t = threadIdx.x;
    unsigned int i = blockIdx.x * blockDim.x + t;
    __shared__ int any;
    if (t == 0)
        any = 0;
    __syncthreads();
    if (in[i] % 3 == 0)
        any = 1;
    __syncthreads();
    out[i] = any;
}

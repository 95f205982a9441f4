// Bug: none: twenty lanes add, and lanes that would read beyond them add nothing
// Expect: ok
// Tool: racecheck synccheck memcheck initcheck
// Launch: 2 64 128
extern "C" __global__ void correct_shuffle_of_a_part(const T *in, T *out, unsigned int n) {
    unsigned int t = threadIdx.x;
    if (t < 20) {
        T sum = in[blockIdx.x * blockDim.x + t];
        for (unsigned int d = 16; d > 0; d /= 2) {
            T other = __shfl_down_sync(0xfffff, sum, d);
            if (t + d < 20)
                sum += other;
        }
        if (t == 0)
            out[blockIdx.x] = sum;
    }
}

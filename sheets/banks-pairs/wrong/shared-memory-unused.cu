extern "C" __global__ void banks_pairs_apart(const T *in, T *out, unsigned int n)
{
    volatile __shared__ T pairs[2 * BLOCK_SIZE];
    unsigned int tid = threadIdx.x, first = (blockIdx.x * blockDim.x + tid) * 2;

    T one = first < n ? in[first] : T(0), other = first + 1 < n ? in[first + 1] : T(0);
    pairs[tid] = one;
    pairs[tid + blockDim.x] = other;
    (void)pairs[tid];
    (void)pairs[tid + blockDim.x];
    if (first < n) out[first] = one;
    if (first + 1 < n) out[first + 1] = other;
}

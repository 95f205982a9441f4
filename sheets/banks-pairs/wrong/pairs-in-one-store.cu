struct alignas(8) Pair {
    T one, other;
};

extern "C" __global__ void banks_pairs_apart(const T *in, T *out, unsigned int n)
{
    __shared__ Pair pairs[BLOCK_SIZE];
    unsigned int tid = threadIdx.x;
    unsigned int first = (blockIdx.x * blockDim.x + tid) * 2;

    pairs[tid] = {first < n ? in[first] : T(0), first + 1 < n ? in[first + 1] : T(0)};
    __syncthreads();

    const T *numbers = &pairs[0].one;
    unsigned int at = blockIdx.x * blockDim.x * 2 + tid;
    if (at < n) out[at] = numbers[tid];
    if (at + blockDim.x < n) out[at + blockDim.x] = numbers[tid + blockDim.x];
}

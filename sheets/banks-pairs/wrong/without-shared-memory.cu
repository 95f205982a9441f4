extern "C" __global__ void banks_pairs_apart(const T *in, T *out, unsigned int n)
{
    unsigned int first = blockIdx.x * (blockDim.x * 2) + threadIdx.x;

    if (first < n) out[first] = in[first];
    if (first + blockDim.x < n) out[first + blockDim.x] = in[first + blockDim.x];
}

extern "C" __global__ void divergence_ways(const T *in, T *out, unsigned int n)
{
    unsigned int i = blockIdx.x * blockDim.x + threadIdx.x;
    unsigned int key = i % WAYS;
    if (i >= n) return;
    unsigned int value = in[i], factor = 4 * key + 5, term = 2 * key + 1;
#pragma unroll 1
    for (unsigned int round = 0; round < ROUNDS; ++round) value = value * factor + term;
    out[i] = value;
}

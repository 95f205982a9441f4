extern "C" __global__ void divergence_ways(const T *in, T *out, unsigned int n)
{
    unsigned int i = blockIdx.x * blockDim.x + threadIdx.x;
    unsigned int first = (i < n) ? in[i] : 0, result = 0;

    // every thread computes all ways and keeps its own
    for (unsigned int way = 0; way < WAYS; ++way) {
        unsigned int value = first;
        for (unsigned int round = 0; round < ROUNDS; ++round)
            value = value * (4 * way + 5) + (2 * way + 1);
        result = (way == i % WAYS) ? value : result;
    }

    if (i < n) out[i] = result;
}

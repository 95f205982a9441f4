// the work of one branch; no two branches have the same constants, so the compiler cannot join them
template <unsigned int way> __device__ unsigned int work(unsigned int value)
{
#pragma unroll 1
    for (unsigned int round = 0; round < ROUNDS; ++round)
        value = value * (4 * way + 5) + (2 * way + 1);
    return value;
}

// if (key == 0) work<0> else if (key == 1) work<1> ... else work<WAYS - 1>
template <unsigned int way> __device__ unsigned int branch(unsigned int key, unsigned int value)
{
    if constexpr (way == WAYS - 1)
        return work<way>(value);
    else
        return (key == way) ? work<way>(value) : branch<way + 1>(key, value);
}

extern "C" __global__ void divergence_ways(const T *in, T *out, unsigned int n)
{
    unsigned int warp = threadIdx.x / 32, lane = threadIdx.x % 32;

    // warp w takes those elements of the block whose way is w
    unsigned int element = blockIdx.x * blockDim.x + warp % WAYS + WAYS * lane;
    unsigned int key = element % WAYS;

    if (element < n)
        out[element] = branch<0>(key, in[element]);
}

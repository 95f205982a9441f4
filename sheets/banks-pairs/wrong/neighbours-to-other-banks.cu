extern "C" __global__ void banks_pairs_apart(const T *in, T *out, unsigned int n)
{
    volatile __shared__ T pairs[2 * BLOCK_SIZE + 16];
    unsigned int tid = threadIdx.x, first = blockIdx.x * (blockDim.x * 2);
    pairs[tid] = (first + 2 * tid < n) ? in[first + 2 * tid] : T(0);
    pairs[tid + blockDim.x + 16] = (first + 2 * tid + 1 < n) ? in[first + 2 * tid + 1] : T(0);
    __syncthreads();
    for (unsigned int k = tid; k < 2 * blockDim.x; k += blockDim.x)
        if (first + k < n) out[first + k] = pairs[k / 2 + k % 2 * (blockDim.x + 16)];
}

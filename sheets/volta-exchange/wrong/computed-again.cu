extern "C" __global__ void branch_exchange_syncwarp(const T *in, T *out, unsigned int n)
{
    __shared__ unsigned int left[BLOCK_SIZE];
    unsigned int tid = threadIdx.x, i = blockIdx.x * blockDim.x + tid, other = blockIdx.x * blockDim.x + (tid ^ 31);
    unsigned int value = (other < n) ? in[other] : 0;

    bool first = (tid ^ 31) % 32 < SPLIT;
    for (unsigned int round = 0; round < 4; ++round)
        value = first ? 3 * value + 1 : 5 * value + 2;
    left[tid ^ 31] = value;
    __syncwarp();

    unsigned int read = left[tid];
    if (i < n) out[i] = value;
    (void)read;
}

extern "C" __global__ void floats_atomic(const T *in, T *out, unsigned int n)
{
    __shared__ T partial[BLOCK_SIZE];
    unsigned int tid = threadIdx.x;
    unsigned int i = blockIdx.x * blockDim.x + threadIdx.x;

    partial[tid] = (i < n) ? in[i] : T(0);
    __syncthreads();

    // add equal sums: 1 + 1, 2 + 2, ...
    for (unsigned int stride = blockDim.x / 2; stride > 0; stride >>= 1) {
        if (tid < stride)
            partial[tid] += partial[tid + stride];
        __syncthreads();
    }

    // the sum of a block is large enough to be counted
    if (tid == 0) atomicAdd(out, partial[0]);
}

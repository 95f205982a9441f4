extern "C" __global__ void reduce_grid_stride_atomic(const T *in, T *out, unsigned int n)
{
    __shared__ T partial[BLOCK_SIZE];
    unsigned int tid = threadIdx.x;
    unsigned int threads = blockDim.x * gridDim.x;
    unsigned int each = (n + threads - 1) / threads;
    unsigned int first = (blockIdx.x * blockDim.x + threadIdx.x) * each;

    // each thread adds a piece of the array
    partial[tid] = T(0);
    for (unsigned int i = first; i < first + each && i < n; i++)
        partial[tid] += in[i];
    __syncthreads();

    for (unsigned int stride = blockDim.x / 2; stride > 0; stride >>= 1) {
        if (tid < stride)
            partial[tid] += partial[tid + stride];
        __syncthreads();
    }
    if (tid == 0) atomicAdd(out, partial[0]);
}

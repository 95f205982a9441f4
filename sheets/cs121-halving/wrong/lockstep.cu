extern "C" __global__ void reduce_sequential(const T *in, T *out, unsigned int n)
{
    __shared__ T partial[BLOCK_SIZE];
    unsigned int tid = threadIdx.x;
    unsigned int i = blockIdx.x * blockDim.x + threadIdx.x;

    // each thread loads one element from global to shared memory
    partial[tid] = (i < n) ? in[i] : T(0);
    __syncthreads();

    // reduce in shared memory, while whole warps add
    for (unsigned int stride = blockDim.x / 2; stride >= 32; stride >>= 1) {
        if (tid < stride)
            partial[tid] += partial[tid + stride];
        __syncthreads();
    }

    // the first warp adds the rest, with all of its lanes in every step
    if (tid < 32) {
        volatile T *mine = partial;
        for (unsigned int offset = 16; offset > 0; offset >>= 1)
            mine[tid] = mine[tid] + mine[(tid + offset) % BLOCK_SIZE];
        if (tid == 0) out[blockIdx.x] = partial[0];
    }
}

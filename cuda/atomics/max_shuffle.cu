// max_shuffle: the largest number, grid-stride loop and warp shuffles.
// Idea: the lanes of a warp hand over registers and keep the larger of two numbers.
// Fixes (max_shared): the barrier in every step: one barrier is left, and one shared word per warp.
// Limit: reading memory; at small n the second launch.
// Conditions: any n and any grid size; the block size is a multiple of 32.
// Lecture: after hw5 of NVIDIA's CUDA training series: max reduction, from Crovella 2020, "Warp shuffle reduction".
extern "C" __global__ void max_shuffle(const T *in, T *out, unsigned int n)
{
    __shared__ T partial[32];  // one number per warp
    unsigned int i = blockIdx.x * blockDim.x + threadIdx.x;
    unsigned int grid_stride = blockDim.x * gridDim.x;
    unsigned int lane = threadIdx.x % 32;
    unsigned int warp = threadIdx.x / 32;

    // each thread compares as many elements as necessary
    T largest = in[0];  // an element of the array, which is a safe start for every type
    while (i < n) {
        largest = max(largest, in[i]);
        i += grid_stride;
    }

    // reduce in each warp
    for (unsigned int offset = 16; offset > 0; offset >>= 1)
        largest = max(largest, __shfl_down_sync(0xffffffff, largest, offset));
    if (lane == 0) partial[warp] = largest;
    __syncthreads();

    // hereafter, just warp 0: reduce the numbers of the warps
    if (warp == 0) {
        largest = partial[(lane < blockDim.x / 32) ? lane : 0];
        for (unsigned int offset = 16; offset > 0; offset >>= 1)
            largest = max(largest, __shfl_down_sync(0xffffffff, largest, offset));
        if (lane == 0) out[blockIdx.x] = largest;
    }
}

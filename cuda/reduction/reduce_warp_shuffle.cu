// reduce_warp_shuffle: warp-shuffle reduction.
// Idea: the sum stays in a register. __shfl_down_sync lets a lane read the register of a higher lane: five shuffles
//   reduce a warp, and five more in warp 0 reduce the sums of the warps.
// Fixes (reduce_grid_stride_atomic): the tree in shared memory. One instruction replaces a load, a store and a barrier,
//   and a block of any size needs one barrier.
// Limit: reading memory. Each thread has one load in flight, too few to fill the memory system.
// Conditions: any n and any grid size; the block size is a multiple of 32.
// Lecture: Crovella 2020, "Warp shuffle reduction".
extern "C" __global__ void reduce_warp_shuffle(const T *in, T *out, unsigned int n)
{
    __shared__ T partial[32];  // one sum per warp
    unsigned int tid = threadIdx.x;
    unsigned int lane = tid % 32;
    unsigned int warp = tid / 32;
    unsigned int i = blockIdx.x * blockDim.x + threadIdx.x;
    unsigned int grid_stride = blockDim.x * gridDim.x;

    // each thread adds as many elements as necessary
    T sum = T(0);
    while (i < n) {
        sum += in[i];
        i += grid_stride;
    }

    // reduce in each warp
    for (unsigned int offset = 16; offset > 0; offset >>= 1)
        sum += __shfl_down_sync(0xffffffff, sum, offset);
    if (lane == 0) partial[warp] = sum;
    __syncthreads();

    // hereafter, just warp 0: reduce the sums of the warps
    if (warp == 0) {
        sum = (lane < blockDim.x / 32) ? partial[lane] : T(0);
        for (unsigned int offset = 16; offset > 0; offset >>= 1)
            sum += __shfl_down_sync(0xffffffff, sum, offset);

        // add the sum of this block to the result
        if (tid == 0) atomicAdd(out, sum);
    }
}

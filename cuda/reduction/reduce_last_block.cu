// reduce_last_block: the block that finishes last adds the block sums.
// Idea: every block writes its sum and then draws a ticket with atomicInc. __threadfence between the two makes sure
//   that a block that sees the ticket also sees the sum. The last ticket says that all sums are there.
// Fixes (reduce_cooperative): blocks that all wait for the slowest one, and a grid that must be resident at once.
// Limit: reading memory. Each thread has one load in flight. At small n, the fence and the ticket.
// Conditions: any n and any grid size; the block size is a multiple of 32. The ticket is zero before the first launch;
//   atomicInc resets it to zero by itself. With the same grid the answer is the same in every run, also for floats.
// Lecture: NVIDIA's CUDA sample threadFenceReduction; it answers Crovella 2020, "Problem: Global Synchronization".

// the sum of a block's values, in thread 0
__device__ T block_reduce(T sum)
{
    __shared__ T partial[32];  // one sum per warp
    unsigned int lane = threadIdx.x % 32;
    unsigned int warp = threadIdx.x / 32;

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
    }
    return sum;
}

extern "C" __global__ void reduce_last_block(const T *in, T *out, unsigned int n, unsigned int *ticket)
{
    __shared__ bool is_last;
    unsigned int tid = threadIdx.x;
    unsigned int i = blockIdx.x * blockDim.x + threadIdx.x;
    unsigned int grid_stride = blockDim.x * gridDim.x;

    // each thread adds as many elements as necessary
    T sum = T(0);
    while (i < n) {
        sum += in[i];
        i += grid_stride;
    }
    sum = block_reduce(sum);

    // write the sum of this block, then draw a ticket
    if (tid == 0) {
        out[blockIdx.x] = sum;
        __threadfence();
        is_last = (atomicInc(ticket, gridDim.x - 1) == gridDim.x - 1);
    }
    __syncthreads();
    if (!is_last) return;

    // hereafter, just the last block: reduce the sums of the blocks
    sum = T(0);
    for (unsigned int block = tid; block < gridDim.x; block += blockDim.x)
        sum += __ldcg(&out[block]);  // from L2: the L1 cache of this SM may hold something older
    sum = block_reduce(sum);
    if (tid == 0) out[0] = sum;
}

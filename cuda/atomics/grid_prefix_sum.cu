// grid_prefix_sum: the sum of an element and all elements below it, over the whole array.
// Idea: every block scans its own numbers and writes its sum. The block sums are scanned in the same way, by the same
//   kernel, and then every block adds the sum of the blocks below. A launch is the barrier between these steps.
// Fixes (block_prefix_sum): sums that stop at the block's border.
// Limit: memory traffic: every number is read and written once in each of two kernels.
// Conditions: any n; the block size is a multiple of 32. Inclusive.
// Lecture: Crovella 2020, "Solution: Kernel Decomposition", applied to the prefix sum.

// the sum of the values of this lane and the lanes below
__device__ T warp_scan(T sum)
{
    unsigned int lane = threadIdx.x % 32;
    for (unsigned int offset = 1; offset < 32; offset <<= 1) {
        T below = __shfl_up_sync(0xffffffff, sum, offset);
        if (lane >= offset) sum += below;
    }
    return sum;
}

// the sum of the values of this thread and the threads below
__device__ T block_scan(T sum)
{
    __shared__ T totals[32];  // one sum per warp
    unsigned int lane = threadIdx.x % 32;
    unsigned int warp = threadIdx.x / 32;

    // scan in each warp
    sum = warp_scan(sum);
    if (lane == 31) totals[warp] = sum;
    __syncthreads();

    // just warp 0: scan the sums of the warps
    if (warp == 0) {
        T total = (lane < blockDim.x / 32) ? totals[lane] : T(0);
        totals[lane] = warp_scan(total);
    }
    __syncthreads();

    return (warp > 0) ? sum + totals[warp - 1] : sum;
}

extern "C" __global__ void grid_prefix_sum(const T *in, T *out, unsigned int n, T *block_sums)
{
    unsigned int i = blockIdx.x * blockDim.x + threadIdx.x;

    T sum = block_scan((i < n) ? in[i] : T(0));

    if (i < n) out[i] = sum;
    if (threadIdx.x == blockDim.x - 1) block_sums[blockIdx.x] = sum;
}

// block_sums has been scanned: add the sum of all blocks below
extern "C" __global__ void add_block_sums(T *out, unsigned int n, const T *block_sums)
{
    unsigned int i = blockIdx.x * blockDim.x + threadIdx.x;

    if (i < n && blockIdx.x > 0) out[i] += block_sums[blockIdx.x - 1];
}

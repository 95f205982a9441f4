// block_prefix_sum: in every block, the sum of a thread's number and all numbers of the threads below it.
// Idea: every warp scans its own numbers. The first warp scans the sums of the warps, and every thread adds the sum of
//   the warps below its own.
// Fixes (warp_prefix_sum): sums that stop at the warp's border.
// Limit: the sums stop at the block's border: every block starts anew.
// Conditions: any n; the block size is a multiple of 32. Inclusive.
// Lecture: Crovella 2020, "Warp shuffle tips and tricks": warp-level prefix sum, in the shape of reduce_ws.

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

extern "C" __global__ void block_prefix_sum(const T *in, T *out, unsigned int n)
{
    unsigned int i = blockIdx.x * blockDim.x + threadIdx.x;

    T sum = block_scan((i < n) ? in[i] : T(0));

    if (i < n) out[i] = sum;
}

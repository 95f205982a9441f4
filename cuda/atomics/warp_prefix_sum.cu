// warp_prefix_sum: in every warp, the sum of a lane's number and all numbers of the lanes below it.
// Idea: five steps. In each, a lane takes the sum of the lane 1, 2, 4, 8, 16 places below and adds it to its own.
// Fixes: the loop of one thread over 32 numbers: log2(32) steps, without shared memory and without a barrier.
// Limit: the sums stop at the warp's border: they start anew every 32 numbers.
// Conditions: any n; the block size is a multiple of 32. Inclusive: a lane's own number is part of its sum.
// Lecture: Crovella 2020, "Warp shuffle tips and tricks": warp-level prefix sum.

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

extern "C" __global__ void warp_prefix_sum(const T *in, T *out, unsigned int n)
{
    unsigned int i = blockIdx.x * blockDim.x + threadIdx.x;

    T sum = warp_scan((i < n) ? in[i] : T(0));

    if (i < n) out[i] = sum;
}

// histogram_warps: every warp counts for itself.
// Idea: the same idea one level down: a copy of the histogram for each warp, added up when the block is done.
// Fixes (histogram_shared): the contention between warps. Only the 32 lanes of one warp can still add to one word at
//   the same time.
// Limit: the copies take shared memory, and time to clear and to add up, which does not pay at small n. On an H200
//   lanes of one warp that add 1 to the same word cost nothing extra: it counts them in one turn.
// Conditions: any n and any grid size; elements from 0 to BINS - 1; out starts from zero. Each warp takes BINS words
//   of shared memory.
// Lecture: Heidelberg 07, "Parallel reduction": the histogram h_k; private copies as in its per-block partial sums.
#define WARPS (BLOCK_SIZE / 32)

extern "C" __global__ void histogram_warps(const T *in, T *out, unsigned int n)
{
    __shared__ T counts[WARPS][BINS];
    unsigned int warp = threadIdx.x / 32;
    unsigned int i = blockIdx.x * blockDim.x + threadIdx.x;
    unsigned int grid_stride = blockDim.x * gridDim.x;

    for (unsigned int k = threadIdx.x; k < WARPS * BINS; k += blockDim.x) counts[k / BINS][k % BINS] = 0;
    __syncthreads();

    // each thread counts as many elements as necessary
    while (i < n) {
        atomicAdd(&counts[warp][in[i]], 1);
        i += grid_stride;
    }
    __syncthreads();

    // add the counts of this block
    for (unsigned int k = threadIdx.x; k < BINS; k += blockDim.x) {
        T count = 0;
        for (unsigned int w = 0; w < WARPS; ++w) count += counts[w][k];
        atomicAdd(&out[k], count);
    }
}

// reduce_cooperative: cooperative groups, reduce in tiles and synchronise the grid.
// Idea: the groups of threads have names. A tile of 32 threads reduces with cg::reduce, and grid.sync() is the barrier
//   across all blocks that the lectures lack, so block 0 can add the block sums in the same launch.
// Fixes (reduce_warp_shuffle): the atomic at the end. Nothing needs to be set to zero, and the order of the additions
//   is fixed.
// Limit: all blocks must be resident at once, and at grid.sync() every block waits for the slowest one.
// Conditions: a cooperative launch; the grid is at most what fits the GPU at one time; the block size is a multiple of
//   32. Any n.
// Lecture: Heidelberg 07, "Escape the new feature": cooperative thread groups; Crovella 2020, "Global Synchronization".
#include <cooperative_groups.h>
#include <cooperative_groups/reduce.h>
namespace cg = cooperative_groups;

// the sum of a block's values, in thread 0
__device__ T block_reduce(T sum)
{
    __shared__ T partial[32];  // one sum per warp
    cg::thread_block block = cg::this_thread_block();
    cg::thread_block_tile<32> warp = cg::tiled_partition<32>(block);

    // reduce in each warp
    sum = cg::reduce(warp, sum, cg::plus<T>());
    if (warp.thread_rank() == 0) partial[warp.meta_group_rank()] = sum;
    block.sync();

    // hereafter, just warp 0: reduce the sums of the warps
    if (warp.meta_group_rank() == 0) {
        sum = (warp.thread_rank() < warp.meta_group_size()) ? partial[warp.thread_rank()] : T(0);
        sum = cg::reduce(warp, sum, cg::plus<T>());
    }
    return sum;
}

extern "C" __global__ void reduce_cooperative(const T *in, T *out, unsigned int n)
{
    cg::grid_group grid = cg::this_grid();
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

    // write the sum of this block, then wait for all blocks
    if (tid == 0) out[blockIdx.x] = sum;
    grid.sync();
    if (blockIdx.x > 0) return;

    // hereafter, just block 0: reduce the sums of the blocks
    sum = T(0);
    for (unsigned int block = tid; block < gridDim.x; block += blockDim.x)
        sum += out[block];
    sum = block_reduce(sum);
    if (tid == 0) out[0] = sum;
}

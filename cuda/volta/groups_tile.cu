// groups_tile: the sum of every TILE neighbouring numbers, with cooperative groups.
// Idea: tiled_partition cuts the block into tiles of TILE threads. A tile knows its size and each thread its rank, and
//   its shuffle synchronises just these threads.
// Fixes: masks and lane numbers written by hand, and the silent assumption that a warp runs in lockstep.
// Limit: reading memory.
// Conditions: any n; TILE is 1, 2, 4, 8, 16 or 32; the block size is a multiple of 32.
// Lecture: Heidelberg 07, "Escape the new feature": cooperative thread groups.
#include <cooperative_groups.h>
namespace cg = cooperative_groups;

extern "C" __global__ void groups_tile(const T *in, T *out, unsigned int n)
{
    cg::thread_block_tile<TILE> tile = cg::tiled_partition<TILE>(cg::this_thread_block());
    unsigned int i = blockIdx.x * blockDim.x + threadIdx.x;

    // reduce in each tile
    T sum = (i < n) ? in[i] : T(0);
    for (unsigned int offset = tile.size() / 2; offset > 0; offset >>= 1)
        sum += tile.shfl_down(sum, offset);

    // write the sum of this tile
    if (i < n && tile.thread_rank() == 0) out[i / TILE] = sum;
}

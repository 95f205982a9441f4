// groups_coalesced: count the positive numbers, with the group of the lanes that run the branch together.
// Idea: inside a branch, coalesced_threads() names the lanes that run it together, whichever these are. One of them
//   adds the size of the group.
// Fixes: a mask written by hand, which would have to know which lanes are in the branch.
// Limit: the scheduler decides how many lanes run the branch together. The count is right in any case, but the number
//   of atomics may vary.
// Conditions: any n; out is zero before.
// Lecture: Heidelberg 07, "Escape the new feature": cooperative thread groups.
#include <cooperative_groups.h>
namespace cg = cooperative_groups;

extern "C" __global__ void groups_coalesced(const T *in, unsigned int *out, unsigned int n)
{
    unsigned int i = blockIdx.x * blockDim.x + threadIdx.x;

    if (i < n && in[i] > T(0)) {
        cg::coalesced_group together = cg::coalesced_threads();
        if (together.thread_rank() == 0) atomicAdd(out, together.size());
    }
}

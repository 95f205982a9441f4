// branch_order: the order in which lanes run the lecture's if/else.
// Idea: at A, B, X, Y and Z every lane draws a ticket of its warp; the tickets show the order in which the lanes came.
// Fixes: nothing; it makes visible what the code leaves open.
// Limit: no order is promised between the two branches, and none between a branch and Z: since Volta the lanes of one
//   branch may be at Z while the others are still in theirs.
// Conditions: any n; the lanes below SPLIT take the first branch. out has 3 tickets per thread: A or X, B or Y, Z.
// Lecture: Heidelberg 07, "Volta's (and after) SIMT model".
extern "C" __global__ void branch_order(T *out, unsigned int n, unsigned int *tickets)
{
    unsigned int i = blockIdx.x * blockDim.x + threadIdx.x;
    bool first = threadIdx.x % 32 < SPLIT;
    unsigned int *ticket = &tickets[i / 32];  // one counter per warp

    // atomicInc and atomicAdd count alike here; they differ, so the compiler cannot join the branches
    if (i < n && first) {
        out[3 * i] = atomicInc(ticket, 0xffffffff);      // A
        out[3 * i + 1] = atomicInc(ticket, 0xffffffff);  // B
    } else if (i < n) {
        out[3 * i] = atomicAdd(ticket, 1);      // X
        out[3 * i + 1] = atomicAdd(ticket, 1);  // Y
    }
    if (i < n)
        out[3 * i + 2] = atomicAdd(ticket, 1);  // Z
}

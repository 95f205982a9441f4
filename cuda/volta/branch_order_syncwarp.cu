// branch_order_syncwarp: the order of the lanes, with __syncwarp after the if/else.
// Idea: the same tickets. __syncwarp lets all lanes of the warp wait for each other before Z.
// Fixes (branch_order): Z during a branch: every ticket of Z is larger than every ticket of A, B, X and Y, on every
//   GPU.
// Limit: the order of the two branches is still open, and a wait costs time that independent lanes could use.
// Conditions: any n; the lanes below SPLIT take the first branch. out has 3 tickets per thread: A or X, B or Y, Z.
// Lecture: Heidelberg 07, "Volta's (and after) SIMT model": "__syncwarp() to force reconvergence".
extern "C" __global__ void branch_order_syncwarp(T *out, unsigned int n, unsigned int *tickets)
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
    __syncwarp();
    if (i < n)
        out[3 * i + 2] = atomicAdd(ticket, 1);  // Z
}

// lock_inside: a lock per warp; a lane does its work inside the loop in which it waits.
// Idea: a lane that gets the lock adds its number and gives the lock back before the warp goes round again.
// Fixes (branch_exchange_syncwarp): nothing yet; this is the form that had to be written up to Pascal: no lane leaves
//   the loop with the lock.
// Limit: 32 lanes one after the other, in no fixed order. Each takes the lock once: at most 31 pass a waiting lane.
// Conditions: any n; out and the locks, one per warp, are zero before. Finishes on every GPU.
// Lecture: Heidelberg 07, "Pascal's (and before) SIMT model": deadlock possibility, avoided.
extern "C" __global__ void lock_inside(const T *in, T *out, unsigned int n, unsigned int *locks)
{
    unsigned int i = blockIdx.x * blockDim.x + threadIdx.x;
    if (i >= n) return;
    volatile T *sum = &out[i / 32];
    unsigned int *lock = &locks[i / 32];

    bool done = false;
    while (!done) {
        if (atomicCAS(lock, 0, 1) == 0) {
            __threadfence();  // see what the last holder wrote
            *sum = *sum + in[i];
            __threadfence();  // let the next holder see it
            atomicExch(lock, 0);
            done = true;
        }
    }
}

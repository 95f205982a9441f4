// lock_spin: a lock per warp; wait in a loop, then do the work.
// Idea: the lock that one would write for a CPU. The lane that gets it leaves the loop and adds its number; the
//   other lanes go on trying.
// Fixes (lock_inside): a form that forces all locked work into the waiting loop.
// Limit: in lockstep this never ends: the holder waits behind the loop for the lanes that wait for its lock. It needs
//   independent thread scheduling (Volta and after), which lets the holder proceed. No rule says which lane is next.
// Conditions: any n; out and the locks, one per warp, are zero before. Volta or later.
// Lecture: Heidelberg 07, "Starvation-free algorithms": thread #0 holds the lock, thread #1 impedes its progress.
extern "C" __global__ void lock_spin(const T *in, T *out, unsigned int n, unsigned int *locks)
{
    unsigned int i = blockIdx.x * blockDim.x + threadIdx.x;
    if (i >= n) return;
    volatile T *sum = &out[i / 32];
    unsigned int *lock = &locks[i / 32];

    while (atomicCAS(lock, 0, 1) != 0) {
        // wait
    }
    __threadfence();  // see what the last holder wrote
    *sum = *sum + in[i];
    __threadfence();  // let the next holder see it
    atomicExch(lock, 0);
}

// lock_ticket: a lock per warp that serves the lanes in the order of their tickets.
// Idea: draw a ticket, wait until it is called, do the work, call the next one.
// Fixes (lock_spin): an order that is left to chance. If lanes took the lock again and again, one of them could be
//   passed over for ever; here only lanes with a smaller ticket go first, at most 31 (finite bypass).
// Limit: in lockstep this never ends either: the lane whose turn it is waits for the lanes that wait for it.
//   Starvation-free algorithms need a scheduler that lets every thread proceed eventually (Volta and after).
// Conditions: any n; out and two counters per warp, tickets and turns, are zero before. Volta or later.
// Lecture: Heidelberg 07, "Starvation-free algorithms".
extern "C" __global__ void lock_ticket(const T *in, T *out, unsigned int n, unsigned int *locks)
{
    unsigned int i = blockIdx.x * blockDim.x + threadIdx.x;
    if (i >= n) return;
    volatile T *sum = &out[i / 32];
    unsigned int *ticket = &locks[i / 32 * 2];
    volatile unsigned int *turn = &locks[i / 32 * 2 + 1];

    unsigned int mine = atomicAdd(ticket, 1);
    while (*turn != mine) {
        // wait
    }
    __threadfence();  // see what the last holder wrote
    *sum = *sum + in[i];
    __threadfence();  // let the next holder see it
    *turn = mine + 1;
}

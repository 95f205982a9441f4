// barrier_none: the same four steps without a barrier; a warp without work goes on to the next step.
// Idea: no warp waits for another. While one warp works, the scheduler has the others to choose from.
// Fixes (barrier_every_step): the waiting. All warps do their work at the same time: one turn instead of four.
// Limit: arithmetic.
// Conditions: any n; integers, which wrap on overflow.
// Lecture: CS121, "Synchronization": avoid synchronization if possible.
extern "C" __global__ void barrier_none(const T *in, T *out, unsigned int n)
{
    unsigned int i = blockIdx.x * blockDim.x + threadIdx.x;
    unsigned int warp = threadIdx.x / 32;

    unsigned int value = (i < n) ? in[i] : 0;
    for (unsigned int step = 0; step < 4; ++step) {
        if (warp % 4 == step)
#pragma unroll 1
            for (unsigned int round = 0; round < ROUNDS; ++round)
                value = value * 1664525 + 1013904223;
        // no barrier: no thread needs another thread's result
    }

    if (i < n) out[i] = value;
}

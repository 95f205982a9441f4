// barrier_every_step: four steps with a barrier after each; in every step a different quarter of the warps has work.
// Idea: warps need not be equally fast. Here the difference is large: in step s only the warps with warp % 4 == s have
//   ROUNDS rounds to do, and all others wait for them at the barrier.
// Fixes: nothing; no thread needs another thread's result, so no barrier is needed.
// Limit: waiting. A block takes the time of its slowest warp in every step: four turns, one after the other.
// Conditions: any n; integers, which wrap on overflow.
// Lecture: CS121, "Synchronization": threads arriving earlier at the barrier wait for later threads.
extern "C" __global__ void barrier_every_step(const T *in, T *out, unsigned int n)
{
    unsigned int i = blockIdx.x * blockDim.x + threadIdx.x;
    unsigned int warp = threadIdx.x / 32;

    unsigned int value = (i < n) ? in[i] : 0;
    for (unsigned int step = 0; step < 4; ++step) {
        if (warp % 4 == step)
#pragma unroll 1
            for (unsigned int round = 0; round < ROUNDS; ++round)
                value = value * 1664525 + 1013904223;
        __syncthreads();
    }

    if (i < n) out[i] = value;
}

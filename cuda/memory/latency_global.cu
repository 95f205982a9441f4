// latency_global: one thread follows a chain of ROUNDS numbers through global memory.
// Idea: the address of the next number is known only when this number has arrived, so the thread cannot do anything
//   meanwhile: the time is ROUNDS times the latency of global memory.
// Fixes: nothing; a single thread waits for the full latency of every read.
// Limit: latency. The memory could serve thousands of such threads at the same time.
// Conditions: any n; the chain jumps through all n numbers. One thread works; integers.
// Lecture: CS121, "GPU memory organization": latency of 400-800 cycles; "Global memory latency".
extern "C" __global__ void latency_global(const T *in, T *out, unsigned int n)
{
    unsigned int i = blockIdx.x * blockDim.x + threadIdx.x;
    if (i != 0) return;

    unsigned int at = i;
#pragma unroll 1
    for (unsigned int round = 0; round < ROUNDS; ++round)
        at = __umulhi((at + in[at] + round) * 2654435769u, n);  // a place below n
    out[i] = at;
}

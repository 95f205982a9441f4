// latency_hidden: n threads follow a chain of ROUNDS numbers each through global memory.
// Idea: while one warp waits for its number, the scheduler runs another one. Each thread waits for each of its numbers,
//   but together they keep the memory busy.
// Fixes: the waiting. With enough warps one of them is always ready.
// Limit: bandwidth, of the caches if they hold all n numbers: each step fetches a sector of 32 bytes for 4 of them.
// Conditions: any n; the chains jump through all n numbers, 64 steps each; the single thread of latency_global follows
//   1,024. Integers.
// Lecture: CS121, "Global memory latency": total throughput high, even though each thread has high latency.
extern "C" __global__ void latency_hidden(const T *in, T *out, unsigned int n)
{
    unsigned int i = blockIdx.x * blockDim.x + threadIdx.x;
    if (i >= n) return;

    unsigned int at = i;
#pragma unroll 1
    for (unsigned int round = 0; round < ROUNDS; ++round)
        at = __umulhi((at + in[at] + round) * 2654435769u, n);  // a place below n
    out[i] = at;
}

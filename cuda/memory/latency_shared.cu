// latency_shared: one thread follows a chain of ROUNDS numbers through shared memory.
// Idea: the same chain through a table of 1024 numbers that the block has brought to shared memory.
// Fixes (latency_l1): a cache that may evict a number: shared memory, as near to the threads, keeps what the block
//   stores.
// Limit: latency, but a small one; the arithmetic between two reads takes as long.
// Conditions: any n; the chain jumps through the first 1024 numbers, zeros beyond n. One thread works; integers.
// Lecture: CS121, "GPU memory organization": latency of about 20 cycles.
extern "C" __global__ void latency_shared(const T *in, T *out, unsigned int n)
{
    __shared__ T table[1024];
    unsigned int i = blockIdx.x * blockDim.x + threadIdx.x;

    // all threads load the table together: the first 1024 numbers, zeros beyond n
    for (unsigned int word = threadIdx.x; word < 1024; word += blockDim.x)
        table[word] = (word < n) ? in[word] : T(0);
    __syncthreads();
    if (i != 0) return;

    unsigned int at = i;
#pragma unroll 1
    for (unsigned int round = 0; round < ROUNDS; ++round)
        at = __umulhi((at + table[at] + round) * 2654435769u, 1024);  // a place below 1024
    out[i] = at;
}

// latency_l1: one thread follows a chain of ROUNDS numbers through the L1 cache.
// Idea: the same chain through KILOBYTES KB of global memory. All threads of the block have read them once before, so
//   they lie in the L1 cache of this multiprocessor, as far as they fit.
// Fixes (latency_global): the path to global memory, without a change to the chain: the hardware decides what this
//   cache holds.
// Limit: latency, and space: if there are more numbers than fit, some of them come from the L2 cache again.
// Conditions: any n; the chain jumps through KILOBYTES KB, whatever n is. One thread works; integers. out[0] is where
//   the chain ends, out[t] the sum of the numbers that thread t has read before.
// Lecture: CS121, "GPU memory organization": latency of about 20 cycles.
extern "C" __global__ void latency_l1(const T *in, T *out, unsigned int n)
{
    const unsigned int words = KILOBYTES * 256;
    unsigned int i = blockIdx.x * blockDim.x + threadIdx.x;

    // all threads read the numbers together, which brings them to the cache
    T seen = T(0);
    for (unsigned int word = threadIdx.x; word < words; word += blockDim.x)
        seen += in[word];
    out[i] = seen;  // keeps the compiler from removing the reads
    __syncthreads();
    if (i != 0) return;

    unsigned int at = i;
#pragma unroll 1
    for (unsigned int round = 0; round < ROUNDS; ++round)
        at = __umulhi((at + in[at] + round) * 2654435769u, words);  // a place below words
    out[i] = at;
}

// bandwidth_global: every thread adds ROUNDS numbers from global memory; no two threads read the same.
// Idea: enough threads with enough coalesced reads in flight: only the memory's bandwidth limits them.
// Fixes: nothing; with so many reads in flight, the latency of one of them does not count.
// Limit: the bandwidth of global memory.
// Conditions: any n; in holds ROUNDS rows of 32 numbers for each warp. Thread i writes its sum.
// Lecture: CS121, "GPU memory organization": 900 GB/s.
extern "C" __global__ void bandwidth_global(const T *in, T *out, unsigned int n)
{
    unsigned int lane = threadIdx.x % 32;
    unsigned int i = blockIdx.x * blockDim.x + threadIdx.x;
    const T *rows = in + (i - lane) * ROUNDS;  // this warp's

    T sum = T(0);
#pragma unroll
    for (unsigned int round = 0; round < ROUNDS; ++round)
        sum += rows[32 * round + lane];

    if (i < n) out[i] = sum;
}

// bandwidth_shared: every thread adds PASSES times ROUNDS numbers that lie in shared memory.
// Idea: the block copies the rows to shared memory and reads them there: 32 neighbours lie in 32 banks, one pass.
// Fixes (bandwidth_l1): nothing; the L1 cache and shared memory are one memory, and the programmer fills the shared
//   part by hand.
// Limit: the bandwidth of shared memory: 32 banks of 4 bytes per cycle and multiprocessor.
// Conditions: any n; in holds ROUNDS + PASSES rows. All threads with the same lane number write the same sum.
// Lecture: CS121, "GPU memory organization": 12,000 GB/s.
extern "C" __global__ void bandwidth_shared(const T *in, T *out, unsigned int n)
{
    __shared__ T table[32 * (ROUNDS + PASSES)];
    unsigned int lane = threadIdx.x % 32;
    unsigned int i = blockIdx.x * blockDim.x + threadIdx.x;

    // all threads load the table together
    for (unsigned int word = threadIdx.x; word < 32 * (ROUNDS + PASSES); word += blockDim.x)
        table[word] = in[word];
    __syncthreads();

    T sum = T(0);
#pragma unroll 1
    for (unsigned int pass = 0; pass < PASSES; ++pass) {
        const T *rows = table + 32 * pass;
#pragma unroll
        for (unsigned int round = 0; round < ROUNDS; ++round)
            sum += rows[32 * round + lane];
    }

    if (i < n) out[i] = sum;
}

// latency_register: one thread takes the ROUNDS steps of the chain with a number in a register.
// Idea: the same arithmetic, but the number is always the same and stays where the arithmetic is done.
// Fixes (latency_constant): the reads. The rest of the time is the launch and the arithmetic between two reads, which
//   every chain has: the extra time of another chain is its memory's latency.
// Limit: arithmetic. A thread has at most 255 registers, and no other thread can read them.
// Conditions: any n. One thread works; integers.
// Lecture: CS121, "GPU memory organization": latency of about 1 cycle.
extern "C" __global__ void latency_register(const T *in, T *out, unsigned int n)
{
    unsigned int i = blockIdx.x * blockDim.x + threadIdx.x;
    if (i != 0) return;

    T number = in[i];
    unsigned int at = i;
#pragma unroll 1
    for (unsigned int round = 0; round < ROUNDS; ++round)
        at = __umulhi((at + number + round) * 2654435769u, n);  // a place below n
    out[i] = at;
}

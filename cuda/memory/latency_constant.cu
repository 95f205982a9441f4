// latency_constant: one thread follows a chain of ROUNDS numbers through constant memory.
// Idea: the same chain through a table of 1024 numbers that the kernel only reads: constant memory has caches of its
//   own on the multiprocessor.
// Fixes (latency_shared): the copy to shared memory, and the barrier after it: the table is there before the kernel
//   begins.
// Limit: latency. One thread does not show the weakness of constant memory: different words for the lanes of a warp.
// Conditions: any n; the chain jumps through the table. One thread works; integers.
// Lecture: CS121, "GPU memory organization": 64 KB, cached, read-only.
struct Table {
    T number[1024];
    __device__ constexpr Table() : number()
    {
        for (unsigned int k = 0; k < 1024; ++k)
            number[k] = k * 40503u % 199;
    }
};
__constant__ Table table;

extern "C" __global__ void latency_constant(const T *in, T *out, unsigned int n)
{
    unsigned int i = blockIdx.x * blockDim.x + threadIdx.x;
    if (i != 0) return;

    unsigned int at = i;
#pragma unroll 1
    for (unsigned int round = 0; round < ROUNDS; ++round)
        at = __umulhi((at + table.number[at] + round) * 2654435769u, 1024);  // a place below 1024
    out[i] = at;
}

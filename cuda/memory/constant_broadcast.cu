// constant_broadcast: every thread adds ROUNDS numbers of a table in constant memory, in each round the same for all.
// Idea: all lanes of a warp read the same word at the same time: a coefficient, say, or a size. Constant memory is made
//   for that: it broadcasts the word.
// Fixes (constant_words): the passes: a request takes one, whatever the number of lanes.
// Limit: the arithmetic of the loop.
// Conditions: any n; the block size is a multiple of 32.
// Lecture: CS121, "GPU memory organization": constant memory, cached, read-only.
struct Table {
    T number[1024];
    __device__ constexpr Table() : number()
    {
        for (unsigned int k = 0; k < 1024; ++k)
            number[k] = k * 40503u % 199;
    }
};
__constant__ Table table;

extern "C" __global__ void constant_broadcast(const T *in, T *out, unsigned int n)
{
    unsigned int i = blockIdx.x * blockDim.x + threadIdx.x;

    // start with this thread's own number, then add from the table
    T sum = (i < n) ? in[i] : T(0);
#pragma unroll 1
    for (unsigned int round = 0; round < ROUNDS; ++round)
        sum += table.number[round % 32];

    if (i < n) out[i] = sum;
}

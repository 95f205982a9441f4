// constant_words: every thread adds ROUNDS numbers of a table in constant memory, WORDS different ones per request.
// Idea: constant memory delivers one word at a time, to all lanes that read it. Here the lanes of a warp read WORDS
//   different words.
// Fixes: nothing; WORDS = 1 gives all lanes the same word.
// Limit: passes. A request is served once for each different word in it, up to 32 times; shared memory would serve
//   words in different banks at once.
// Conditions: any n; WORDS from 1 to 32; the block size is a multiple of 32.
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

extern "C" __global__ void constant_words(const T *in, T *out, unsigned int n)
{
    unsigned int lane = threadIdx.x % 32;
    unsigned int i = blockIdx.x * blockDim.x + threadIdx.x;

    // start with this thread's own number, then add from the table
    T sum = (i < n) ? in[i] : T(0);
#pragma unroll 1
    for (unsigned int round = 0; round < ROUNDS; ++round)
        sum += table.number[32 * (lane % WORDS) + round % 32];

    if (i < n) out[i] = sum;
}

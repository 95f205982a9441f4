// banks_broadcast: every thread adds ROUNDS numbers of a table in shared memory, WORDS different ones per request.
// Idea: lanes that read the same word get it in the same pass (broadcast). Here the lanes read WORDS different words,
//   and all of these lie in one bank.
// Fixes (banks_strided): the conflict of all lanes in one bank, as long as they read the same word.
// Limit: different words in one bank: a request takes WORDS passes, however many lanes share each of the words.
// Conditions: any n; the block size is a multiple of 32.
// Lecture: CS121, "Bank conflicts": "unless all threads access same value, which then gets broadcast in one pass".
extern "C" __global__ void banks_broadcast(const T *in, T *out, unsigned int n)
{
    __shared__ T table[1024];
    unsigned int lane = threadIdx.x % 32;
    unsigned int i = blockIdx.x * blockDim.x + threadIdx.x;

    // all threads load the table together: the first 1024 numbers, zeros beyond n
    for (unsigned int k = threadIdx.x; k < 1024; k += blockDim.x)
        table[k] = (k < n) ? in[k] : T(0);
    __syncthreads();

    // start with this thread's own number, then add from the table
    T sum = (i < n) ? in[i] : T(0);
#pragma unroll 1  // unrolled, the compiler would join reads of neighbouring words into one wide read
    for (unsigned int round = 0; round < ROUNDS; ++round)
        sum += table[(32 * (lane % WORDS) + round) % 1024];

    if (i < n) out[i] = sum;
}

// banks_strided: every thread adds ROUNDS numbers of a table in shared memory, neighbours STRIDE words apart.
// Idea: word x of shared memory lies in bank x % 32; a bank delivers one word per pass. Lane l reads word STRIDE * l.
// Fixes: nothing; STRIDE = 1 gives every lane a bank of its own.
// Limit: passes (wavefronts). With 4-byte numbers a request takes gcd(STRIDE, 32) passes: one for every odd stride, 2
//   for stride 2, 32 for stride 32, when every lane reads a different word of the same bank.
// Conditions: any n; the block size is a multiple of 32.
// Lecture: CS121, "Bank conflicts".
extern "C" __global__ void banks_strided(const T *in, T *out, unsigned int n)
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
        sum += table[(STRIDE * lane + round) % 1024];

    if (i < n) out[i] = sum;
}

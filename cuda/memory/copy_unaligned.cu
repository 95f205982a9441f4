// copy_unaligned: out[i] = in[i + OFFSET], one number at a time, 64 bytes in flight per thread.
// Idea: loads of 16 bytes must start at a multiple of 16 bytes; bytes in flight need not. Each thread asks for 16
//   numbers of 4 bytes, a block's width apart, before it stores the first.
// Fixes (copy_vectorized): the condition that the array start at a multiple of 16 bytes.
// Limit: memory bandwidth. There are four times as many loads and stores, but they fit into the time.
// Conditions: any n and any start; in has n + OFFSET numbers.
// Lecture: none: after CS121, "Memory coalescing", at memory speed.
constexpr unsigned int EACH = 64 / sizeof(T);  // numbers of a thread

extern "C" __global__ void copy_unaligned(const T *in, T *out, unsigned int n)
{
    unsigned int i = blockIdx.x * (EACH * BLOCK_SIZE) + threadIdx.x;

    T number[EACH];
    for (unsigned int k = 0; k < EACH; k++)
        if (i + k * BLOCK_SIZE < n) number[k] = in[i + k * BLOCK_SIZE + OFFSET];
    for (unsigned int k = 0; k < EACH; k++)
        if (i + k * BLOCK_SIZE < n) out[i + k * BLOCK_SIZE] = number[k];
}

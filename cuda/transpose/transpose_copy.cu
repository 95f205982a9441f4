// transpose_copy: out = in, n x n numbers, 16 bytes at a time. Nothing is transposed: it is the roof.
// Idea: a transpose moves every number once and computes nothing, so no transpose can be faster than the best copy of
//   the same matrix. Each thread asks for four pieces of 16 bytes before it stores the first.
// Fixes: nothing; it is what the others are measured against.
// Limit: the memory itself, which every byte crosses twice.
// Conditions: any n; in and out start at a multiple of 16 bytes.
// Lecture: none: after Ruetsch and Micikevicius, "Optimizing matrix transpose in CUDA", the simple copy.
constexpr unsigned int V = 16 / sizeof(T);  // numbers in a piece
struct alignas(16) Vector { T element[V]; };

extern "C" __global__ void transpose_copy(const T *in, T *out, unsigned int n)
{
    const Vector *from = reinterpret_cast<const Vector *>(in);
    Vector *to = reinterpret_cast<Vector *>(out);
    unsigned int i = blockIdx.x * (4 * BLOCK_SIZE) + threadIdx.x, all = n * n, count = all / V;

    Vector piece[4];
    for (unsigned int k = 0; k < 4; k++)
        if (i + k * BLOCK_SIZE < count) piece[k] = from[i + k * BLOCK_SIZE];
    for (unsigned int k = 0; k < 4; k++)
        if (i + k * BLOCK_SIZE < count) to[i + k * BLOCK_SIZE] = piece[k];

    // the ragged end: fewer numbers than a piece has
    if (i < all % V) out[all - 1 - i] = in[all - 1 - i];
}

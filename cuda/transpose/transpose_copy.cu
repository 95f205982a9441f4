// transpose_copy: out = in, n x n numbers, 16 bytes at a time. It transposes nothing: it is the roof.
// Idea: a transpose moves every number once and computes nothing, so no transpose can be faster than the best copy of
//   the same matrix. A thread copies 16 bytes; there are so many threads that the memory is never idle.
// Fixes: nothing; it is what the others are measured against.
// Limit: memory bandwidth: every byte is read once and written once.
// Conditions: any n; in and out start at a multiple of 16 bytes.
// Lecture: none: after Ruetsch and Micikevicius, "Optimizing matrix transpose in CUDA", the simple copy.
constexpr unsigned int V = 16 / sizeof(T);  // numbers in a piece
struct alignas(16) Vector { T element[V]; };

extern "C" __global__ void transpose_copy(const T *in, T *out, unsigned int n)
{
    unsigned int i = blockIdx.x * blockDim.x + threadIdx.x, all = n * n;

    if (i < all / V) reinterpret_cast<Vector *>(out)[i] = reinterpret_cast<const Vector *>(in)[i];
    if (i < all % V) out[all - 1 - i] = in[all - 1 - i];  // the tail: fewer numbers than a piece has
}

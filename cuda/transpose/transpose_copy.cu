// transpose_copy: out = in, n x n numbers, in blocks of 32 x 32. Nothing is transposed: it is the roof.
// Idea: a transpose moves every number once and computes nothing, so a copy of the same matrix is as fast as it can be.
//   A warp reads 32 neighbours of a row and writes 32 neighbours of a row.
// Fixes: nothing; it is what the others are measured against.
// Limit: the memory itself, with one word of each thread on its way per row.
// Conditions: any n; the block size is a multiple of 32. Every warp takes each (BLOCK_SIZE / 32)-th row of the tile.
// Lecture: none: after Ruetsch and Micikevicius, "Optimizing matrix transpose in CUDA", the simple copy.
extern "C" __global__ void transpose_copy(const T *in, T *out, unsigned int n)
{
    unsigned int lane = threadIdx.x % 32, warp = threadIdx.x / 32;
    unsigned int column = blockIdx.x * 32 + lane;

    for (unsigned int line = warp; line < 32; line += BLOCK_SIZE / 32) {
        unsigned int row = blockIdx.y * 32 + line;
        if (row < n && column < n) out[row * n + column] = in[row * n + column];
    }
}

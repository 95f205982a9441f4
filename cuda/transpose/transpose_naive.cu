// transpose_naive: out[column][row] = in[row][column], n x n numbers, in blocks of 32 x 32.
// Idea: exchange the two indices of the output, and nothing else. A warp reads 32 neighbours of a row.
// Fixes (transpose_copy): nothing; it is the plain transpose.
// Limit: strided writes. A row that was read becomes a column: 32 numbers that lie a whole row apart. Each store
//   touches 32 sectors and fills an eighth of each (4-byte numbers).
// Conditions: any n; the block size is a multiple of 32. Every warp takes each (BLOCK_SIZE / 32)-th row of the tile.
// Lecture: none: after Ruetsch and Micikevicius, "Optimizing matrix transpose in CUDA", the naive transpose.
extern "C" __global__ void transpose_naive(const T *in, T *out, unsigned int n)
{
    unsigned int lane = threadIdx.x % 32, warp = threadIdx.x / 32;
    unsigned int column = blockIdx.x * 32 + lane;

    for (unsigned int line = warp; line < 32; line += BLOCK_SIZE / 32) {
        unsigned int row = blockIdx.y * 32 + line;
        if (row < n && column < n) out[column * n + row] = in[row * n + column];
    }
}

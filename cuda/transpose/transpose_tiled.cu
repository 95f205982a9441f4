// transpose_tiled: out[column][row] = in[row][column], by tiles of 32 x 32 numbers in shared memory.
// Idea: the block reads its tile row by row and writes it row by row. It reads columns only in shared memory, where
//   they cost less.
// Fixes (transpose_naive): the strided writes. Each store to global memory fills whole sectors.
// Limit: bank conflicts. A row of the tile is 32 words, so all numbers of a column lie in one bank: 32 passes.
// Conditions: any n; the block size is a multiple of 32. Every warp takes each (BLOCK_SIZE / 32)-th row of the tile.
// Lecture: none: after Ruetsch and Micikevicius, "Optimizing matrix transpose in CUDA", the coalesced transpose.
extern "C" __global__ void transpose_tiled(const T *in, T *out, unsigned int n)
{
    __shared__ T tile[32][32];
    unsigned int lane = threadIdx.x % 32, warp = threadIdx.x / 32;
    unsigned int column = blockIdx.x * 32 + lane, out_column = blockIdx.y * 32 + lane;

    for (unsigned int line = warp; line < 32; line += BLOCK_SIZE / 32) {
        unsigned int row = blockIdx.y * 32 + line;
        if (row < n && column < n) tile[line][lane] = in[row * n + column];
    }
    __syncthreads();

    for (unsigned int line = warp; line < 32; line += BLOCK_SIZE / 32) {
        unsigned int out_row = blockIdx.x * 32 + line;
        if (out_row < n && out_column < n) out[out_row * n + out_column] = tile[lane][line];
    }
}

// transpose_padded: out[column][row] = in[row][column], by padded tiles of 32 x 32 numbers in shared memory.
// Idea: one unused column makes a row of the tile 33 words long, so the numbers of a column lie in different banks.
// Fixes (transpose_tiled): the bank conflicts. Lane l reads word 33 * l + c, which lies in bank (l + c) % 32: one pass.
// Limit: each thread has only a few words in flight, and all wait at the barrier before the first is written.
// Conditions: any n; the block size is a multiple of 32. Every warp takes each (BLOCK_SIZE / 32)-th row of the tile.
// Lecture: none: after Ruetsch and Micikevicius, "Optimizing matrix transpose in CUDA", the padded tile.
extern "C" __global__ void transpose_padded(const T *in, T *out, unsigned int n)
{
    __shared__ T tile[32][32 + 1];
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

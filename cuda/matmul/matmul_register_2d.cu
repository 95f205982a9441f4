// matmul_register_2d: every thread computes 8 x 8 elements of P.
// Idea: 64 sums in registers. At each k a thread reads 8 elements of M and 8 of N and forms all 64 products of them.
// Fixes (matmul_register_1d): one read from shared memory for each product; now there are 16 for 64 products. The block
//   computes a square of 8 * TILE_WIDTH, so both matrices are read from global memory 8 times less often than with
//   plain tiles.
// Limit: instructions that only move data. All loads take one word each: 16 loads for 64 products, and the copies from
//   global to shared memory beside them.
// Conditions: any width, the tiles at the border are filled with zeros; blocks of TILE_WIDTH x TILE_WIDTH threads.
// Lecture: after CS121; its own idea, reuse, taken from shared memory to registers.
#define ROWS 8     // of P, for each thread
#define COLUMNS 8

extern "C" __global__ void __launch_bounds__(TILE_WIDTH * TILE_WIDTH, 2)
matmul_register_2d(const float *M, const float *N, float *P, int width)
{
    __shared__ float tile_M[ROWS * TILE_WIDTH][TILE_WIDTH];
    __shared__ float tile_N[TILE_WIDTH][COLUMNS * TILE_WIDTH];
    int tx = threadIdx.x;
    int ty = threadIdx.y;

    // this thread computes the elements of P in every TILE_WIDTH-th row from Row and column from Col
    int Row = blockIdx.y * ROWS * TILE_WIDTH + threadIdx.y;
    int Col = blockIdx.x * COLUMNS * TILE_WIDTH + threadIdx.x;

    float Pvalue[ROWS][COLUMNS] = {};
    for (int phase = 0; phase < width; phase += TILE_WIDTH) {
        // all threads load the tiles together, zeros beyond the border
        for (int r = 0; r < ROWS; ++r) {
            int row = Row + r * TILE_WIDTH;
            tile_M[ty + r * TILE_WIDTH][tx] = (row < width && phase + tx < width) ? M[row * width + phase + tx] : 0;
        }
        for (int c = 0; c < COLUMNS; ++c) {
            int col = Col + c * TILE_WIDTH;
            tile_N[ty][tx + c * TILE_WIDTH] = (phase + ty < width && col < width) ? N[(phase + ty) * width + col] : 0;
        }
        __syncthreads();  // the tiles are complete

        for (int k = 0; k < TILE_WIDTH; ++k) {
            float m[ROWS], n[COLUMNS];
            for (int r = 0; r < ROWS; ++r) m[r] = tile_M[ty + r * TILE_WIDTH][k];
            for (int c = 0; c < COLUMNS; ++c) n[c] = tile_N[k][tx + c * TILE_WIDTH];
            for (int r = 0; r < ROWS; ++r)
                for (int c = 0; c < COLUMNS; ++c)
                    Pvalue[r][c] += m[r] * n[c];
        }
        __syncthreads();  // the tiles are no longer needed
    }

    for (int r = 0; r < ROWS; ++r)
        for (int c = 0; c < COLUMNS; ++c) {
            int row = Row + r * TILE_WIDTH, col = Col + c * TILE_WIDTH;
            if (row < width && col < width)
                P[row * width + col] = Pvalue[r][c];
        }
}

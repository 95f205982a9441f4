// matmul_register_1d: every thread computes a column of 8 elements of P.
// Idea: a thread keeps 8 sums in registers, one for every TILE_WIDTH-th row of a taller tile. An element of N that it
//   has read from shared memory serves 8 products.
// Fixes (matmul_tiled): two reads from shared memory for each product; now there are 9 for 8 products. The block
//   computes 8 times as much of P, so each element of N is read from global memory 8 times less often.
// Limit: shared memory still. Each product needs its own element of M.
// Conditions: any width, the tiles at the border are filled with zeros; blocks of TILE_WIDTH x TILE_WIDTH threads.
// Lecture: after CS121; its own idea, reuse, taken from shared memory to registers.
#define ROWS 8  // of P, for each thread

extern "C" __global__ void __launch_bounds__(TILE_WIDTH * TILE_WIDTH)
matmul_register_1d(const float *M, const float *N, float *P, int width)
{
    __shared__ float tile_M[ROWS * TILE_WIDTH][TILE_WIDTH];
    __shared__ float tile_N[TILE_WIDTH][TILE_WIDTH];
    int tx = threadIdx.x;
    int ty = threadIdx.y;

    // this thread computes the elements of P in column Col and the rows Row, Row + TILE_WIDTH, ...
    int Row = blockIdx.y * ROWS * TILE_WIDTH + threadIdx.y;
    int Col = blockIdx.x * TILE_WIDTH + threadIdx.x;

    float Pvalue[ROWS] = {};
    for (int phase = 0; phase < width; phase += TILE_WIDTH) {
        // all threads load the tiles together, zeros beyond the border
        for (int r = 0; r < ROWS; ++r) {
            int row = Row + r * TILE_WIDTH;
            tile_M[ty + r * TILE_WIDTH][tx] = (row < width && phase + tx < width) ? M[row * width + phase + tx] : 0;
        }
        tile_N[ty][tx] = (phase + ty < width && Col < width) ? N[(phase + ty) * width + Col] : 0;
        __syncthreads();  // the tiles are complete

        for (int k = 0; k < TILE_WIDTH; ++k) {
            float n = tile_N[k][tx];
            for (int r = 0; r < ROWS; ++r)
                Pvalue[r] += tile_M[ty + r * TILE_WIDTH][k] * n;
        }
        __syncthreads();  // the tiles are no longer needed
    }

    for (int r = 0; r < ROWS; ++r) {
        int row = Row + r * TILE_WIDTH;
        if (row < width && Col < width)
            P[row * width + Col] = Pvalue[r];
    }
}

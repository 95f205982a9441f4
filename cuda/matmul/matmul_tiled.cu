// matmul_tiled: tiles of M and N in shared memory.
// Idea: work in phases. In each phase the block loads one tile of M and one of N into shared memory, one element of
//   each per thread, and every thread adds the products of a row and a column of these tiles.
// Fixes (matmul_naive): reading everything from global memory again and again. An element that is loaded once is used
//   TILE_WIDTH times, so there are TILE_WIDTH times fewer global reads: 2 * width^3 / TILE_WIDTH.
// Limit: shared memory. Each product still reads two elements from it, and each phase waits at two barriers.
// Conditions: any width, the tiles at the border are filled with zeros; blocks of TILE_WIDTH x TILE_WIDTH threads.
// Lecture: CS121, "Tiled matrix multiplication".
extern "C" __global__ void matmul_tiled(const float *M, const float *N, float *P, int width)
{
    __shared__ float tile_M[TILE_WIDTH][TILE_WIDTH];
    __shared__ float tile_N[TILE_WIDTH][TILE_WIDTH];
    int tx = threadIdx.x;
    int ty = threadIdx.y;

    // this thread computes the element of P in row Row and column Col
    int Row = blockIdx.y * TILE_WIDTH + threadIdx.y;
    int Col = blockIdx.x * TILE_WIDTH + threadIdx.x;

    float Pvalue = 0;
    for (int phase = 0; phase < width; phase += TILE_WIDTH) {
        // all threads load the tiles together, zeros beyond the border
        tile_M[ty][tx] = (Row < width && phase + tx < width) ? M[Row * width + phase + tx] : 0;
        tile_N[ty][tx] = (phase + ty < width && Col < width) ? N[(phase + ty) * width + Col] : 0;
        __syncthreads();  // the tiles are complete

        for (int k = 0; k < TILE_WIDTH; ++k)
            Pvalue += tile_M[ty][k] * tile_N[k][tx];
        __syncthreads();  // the tiles are no longer needed
    }

    if (Row < width && Col < width)
        P[Row * width + Col] = Pvalue;
}

// matmul_naive: one thread per element of P, a row of M times a column of N.
// Idea: threadIdx.x chooses the column and threadIdx.y the row, so neighbouring threads own neighbouring elements.
// Fixes (matmul_uncoalesced): the uncoalesced accesses. At each k the threads of a warp read neighbouring elements of N
//   and share those of M, and they write neighbouring elements of P.
// Limit: global memory bandwidth. Each product reads two elements from global memory, 2 * width^3 in all, although
//   every element of M and N is needed by width threads.
// Conditions: any width; blocks of TILE_WIDTH x TILE_WIDTH threads.
// Lecture: CS121, "Exploiting data reuse": the kernel before tiling.
extern "C" __global__ void matmul_naive(const float *M, const float *N, float *P, int width)
{
    // this thread computes the element of P in row Row and column Col
    int Row = blockIdx.y * TILE_WIDTH + threadIdx.y;
    int Col = blockIdx.x * TILE_WIDTH + threadIdx.x;

    if (Row < width && Col < width) {
        float Pvalue = 0;
        for (int k = 0; k < width; ++k)
            Pvalue += M[Row * width + k] * N[k * width + Col];
        P[Row * width + Col] = Pvalue;
    }
}

// matmul_uncoalesced: one thread per element of P, with the roles of x and y exchanged.
// Idea: the same sum of products, but threadIdx.x chooses the row of P and threadIdx.y the column.
// Fixes: nothing. It shows what the choice of the index costs.
// Limit: uncoalesced memory accesses. The threads of a warp differ in the row, so at each k they read M, and at the end
//   write P, a whole row apart: up to 32 separate pieces of memory instead of one.
// Conditions: any width; blocks of TILE_WIDTH x TILE_WIDTH threads.
// Lecture: CS121, "Memory coalescing": iterating by column instead of by row.
extern "C" __global__ void matmul_uncoalesced(const float *M, const float *N, float *P, int width)
{
    // this thread computes the element of P in row Row and column Col
    int Row = blockIdx.x * TILE_WIDTH + threadIdx.x;
    int Col = blockIdx.y * TILE_WIDTH + threadIdx.y;

    if (Row < width && Col < width) {
        float Pvalue = 0;
        for (int k = 0; k < width; ++k)
            Pvalue += M[Row * width + k] * N[k * width + Col];
        P[Row * width + Col] = Pvalue;
    }
}

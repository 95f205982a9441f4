extern "C" __global__ void matmul_tiled(const float *M, const float *N, float *P, int width)
{
    __shared__ float tile_M[TILE_WIDTH][TILE_WIDTH];
    __shared__ float tile_N[TILE_WIDTH][TILE_WIDTH];
    int tx = threadIdx.x;
    int ty = threadIdx.y;

    // this thread computes the element of P in row Row and column Col
    int Row = blockIdx.y * TILE_WIDTH + ty;
    int Col = blockIdx.x * TILE_WIDTH + tx;

    float Pvalue = 0;
    for (int phase = 0; phase < width / TILE_WIDTH; ++phase) {
        // all threads load the tiles together
        tile_M[ty][tx] = M[Row * width + phase * TILE_WIDTH + tx];
        tile_N[ty][tx] = N[(phase * TILE_WIDTH + ty) * width + Col];
        __syncthreads();

        for (int k = 0; k < TILE_WIDTH; ++k)
            Pvalue += tile_M[ty][k] * tile_N[k][tx];
        __syncthreads();
    }
    P[Row * width + Col] = Pvalue;
}

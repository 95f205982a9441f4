extern "C" __global__ void matmul_tiled(const float *M, const float *N, float *P, int width)
{
    __shared__ float tile_M[TILE_WIDTH][TILE_WIDTH];
    __shared__ float tile_N[TILE_WIDTH][TILE_WIDTH];
    int tx = threadIdx.x;
    int ty = threadIdx.y;
    int Row = blockIdx.y * TILE_WIDTH + ty;
    int Col = blockIdx.x * TILE_WIDTH + tx;
    if (Row >= width || Col >= width) return;  // this thread's elements of the tiles are never loaded

    float Pvalue = 0;
    for (int phase = 0; phase < width; phase += TILE_WIDTH) {
        tile_M[ty][tx] = phase + tx < width ? M[Row * width + phase + tx] : 0;
        tile_N[ty][tx] = phase + ty < width ? N[(phase + ty) * width + Col] : 0;
        __syncthreads();
        for (int k = 0; k < TILE_WIDTH; ++k)
            Pvalue += tile_M[ty][k] * tile_N[k][tx];
        __syncthreads();
    }
    P[Row * width + Col] = Pvalue;
}

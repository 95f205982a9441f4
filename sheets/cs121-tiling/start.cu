extern "C" __global__ void matmul_tiled(const float *M, const float *N, float *P, int width)
{
    // Allocate space for a tile of M and one of N in shared memory

    // This thread works on row Row and column Col of P
    int Row = blockIdx.y * TILE_WIDTH + threadIdx.y;
    int Col = blockIdx.x * TILE_WIDTH + threadIdx.x;
    float Pvalue = 0;

    // Loop over the tiles of M and N that this tile of P needs
    for (int phase = 0; phase < width; phase += TILE_WIDTH) {
        // Load one element from M and N into shared memory
        // How do we calculate which elements to load?

        // Wait till all threads finished loading from M and N

        // Compute dot product from shared memory M and N tiles

        // Wait till all threads in block finish using M and N tiles
    }

    if (Row < width && Col < width)
        P[Row * width + Col] = Pvalue;
}

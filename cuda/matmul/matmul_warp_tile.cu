// matmul_warp_tile: 8 x 8 elements a thread, and a compact piece of P for each warp.
// Idea: the lanes of a warp share what they read. A warp that computes a piece of 64 x 32 needs 96 elements of M and N
//   at each k; one that computes 16 x 128 needs 144.
// Fixes (matmul_vectorized): passes through shared memory, a third of which a compact piece does not need.
// Limit: waiting. A phase is fetched, then stored, then used, and the block multiplies nothing while it waits for
//   global memory.
// Conditions: any width (one that 4 does not divide has no 16-byte rows and is moved word by word); blocks of
//   TILE_WIDTH x TILE_WIDTH threads.
// Lecture: after CS121, whose lessons on warps and bank conflicts choose the layout.
#define TILE (8 * TILE_WIDTH)  // rows and columns of P, for each block
#define DEPTH 8                // of a phase
#define THREADS (TILE_WIDTH * TILE_WIDTH)
#define LOADS (TILE * DEPTH / 4 / THREADS)  // of four words from each matrix, for each thread and phase
#define PAD 4  // shifts the rows, so the transposed stores use different banks

// four neighbours in a row of a matrix, zeros beyond the border
static __device__ float4 load4(const float *matrix, int row, int col, int width)
{
    const float *at = matrix + row * width + col;
    if (width % 4 == 0 && row < width && col < width) return *reinterpret_cast<const float4 *>(at);
    bool inside = row < width;
    return make_float4(inside && col < width ? at[0] : 0, inside && col + 1 < width ? at[1] : 0,
                       inside && col + 2 < width ? at[2] : 0, inside && col + 3 < width ? at[3] : 0);
}

static __device__ void store4(float *matrix, int row, int col, int width, const float *values)
{
    float *at = matrix + row * width + col;
    if (width % 4 == 0 && row < width && col < width)
        *reinterpret_cast<float4 *>(at) = make_float4(values[0], values[1], values[2], values[3]);
    else
        for (int i = 0; i < 4; ++i)
            if (row < width && col + i < width) at[i] = values[i];
}

extern "C" __global__ void __launch_bounds__(THREADS, 2)
matmul_warp_tile(const float *M, const float *N, float *P, int width)
{
    __shared__ __align__(16) float tile_M[DEPTH][TILE + PAD];  // transposed
    __shared__ __align__(16) float tile_N[DEPTH][TILE];
    int tid = threadIdx.y * TILE_WIDTH + threadIdx.x;
    int block_row = blockIdx.y * TILE, block_col = blockIdx.x * TILE;

    // this warp computes a piece of 64 x 32; this thread 4 rows from my_row and 4 from half a piece below, and so for
    // the columns. Lanes 0 and 1, and 0 and 16, differ in the column, all others in the row: if neighbours read
    // the same 16 bytes, shared memory serves 16 lanes at once instead of 8.
    int warp = tid / 32, lane = tid % 32;
    int my_row = warp / (TILE / 32) * 64 + 4 * (lane / 2 % 8);
    int my_col = warp % (TILE / 32) * 32 + 4 * (lane % 2 + lane / 16 * 2);
    const int half_rows = 32, half_cols = 16;

    float Pvalue[8][8] = {};
    for (int phase = 0; phase < width; phase += DEPTH) {
        // all threads load the tiles together; all loads are in flight before the first one is stored
        float4 m[LOADS], n[LOADS];
        for (int l = 0, i = tid; l < LOADS; ++l, i += THREADS) {
            m[l] = load4(M, block_row + i / (DEPTH / 4), phase + i % (DEPTH / 4) * 4, width);
            n[l] = load4(N, phase + i / (TILE / 4), block_col + i % (TILE / 4) * 4, width);
        }
        for (int l = 0, i = tid; l < LOADS; ++l, i += THREADS) {
            int row = i / (DEPTH / 4), k = i % (DEPTH / 4) * 4;
            for (int j = 0; j < 4; ++j) tile_M[k + j][row] = reinterpret_cast<float *>(&m[l])[j];
            *reinterpret_cast<float4 *>(&tile_N[i / (TILE / 4)][i % (TILE / 4) * 4]) = n[l];
        }
        __syncthreads();  // the tiles are complete

        #pragma unroll  // the words of the next k are loaded while the words of this k are used
        for (int k = 0; k < DEPTH; ++k) {
            float4 m[2], n[2];
            for (int half = 0; half < 2; ++half) {
                m[half] = *reinterpret_cast<const float4 *>(&tile_M[k][my_row + half * half_rows]);
                n[half] = *reinterpret_cast<const float4 *>(&tile_N[k][my_col + half * half_cols]);
            }
            for (int r = 0; r < 8; ++r)
                for (int c = 0; c < 8; ++c)
                    Pvalue[r][c] += reinterpret_cast<float *>(m)[r] * reinterpret_cast<float *>(n)[c];
        }
        __syncthreads();  // the tiles are no longer needed
    }

    for (int r = 0; r < 8; ++r)
        for (int half = 0; half < 2; ++half)
            store4(P, block_row + my_row + r % 4 + r / 4 * half_rows, block_col + my_col + half * half_cols, width,
                   &Pvalue[r][4 * half]);
}

// matmul_async_copy: 8 x 8 elements a thread, and the next phases are in flight while this one is used.
// Idea: an asynchronous copy goes from global to shared memory without passing through registers, and no thread waits
//   until the data is needed. Four pairs of tiles form a ring: one is used, three are in flight.
// Fixes (matmul_warp_tile): waiting for global memory, and one of the two barriers of a phase.
// Limit: the multiply-add units: addresses, loads and copies take the remaining instruction slots.
// Conditions: any width (one that 4 does not divide has no 16-byte rows and is copied word by word); blocks of
//   TILE_WIDTH x TILE_WIDTH threads; compute capability 8.0 or later.
// Lecture: after CS121, whose scheduler hides latency with other warps; here a block also hides it by itself.
#include <cuda_pipeline.h>
#define TILE (8 * TILE_WIDTH)  // rows and columns of P, for each block
#define DEPTH 8                // of a phase
#define THREADS (TILE_WIDTH * TILE_WIDTH)
#define PAD 4  // shifts the rows, so eight rows of tile_M use different banks
#define STAGES 4  // of the ring

// start to copy four neighbours in a row of a matrix, zeros beyond the border
static __device__ void copy4(float *to, const float *matrix, int row, int col, int width)
{
    const float *at = matrix + row * width + col;
    if (width % 4 == 0) {
        bool inside = row < width && col < width;
        __pipeline_memcpy_async(to, inside ? at : matrix, 16, inside ? 0 : 16);
    } else
        for (int i = 0; i < 4; ++i) {
            bool inside = row < width && col + i < width;
            __pipeline_memcpy_async(to + i, inside ? at + i : matrix, 4, inside ? 0 : 4);
        }
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
matmul_async_copy(const float *M, const float *N, float *P, int width)
{
    __shared__ __align__(16) float tile_M[STAGES][TILE][DEPTH + PAD];  // as in M: a copy of 16 bytes cannot transpose
    __shared__ __align__(16) float tile_N[STAGES][DEPTH][TILE];
    int tid = threadIdx.y * TILE_WIDTH + threadIdx.x;
    int block_row = blockIdx.y * TILE, block_col = blockIdx.x * TILE;

    // this warp computes a piece of 64 x 32; this thread every eighth row of it from my_row, and 4 + 4 columns
    int warp = tid / 32, lane = tid % 32;
    int my_row = warp / (TILE / 32) * 64 + lane / 2 % 8;
    int my_col = warp % (TILE / 32) * 32 + 4 * (lane % 2 + lane / 16 * 2);

    auto fetch = [&](int phase) {
        int stage = phase / DEPTH % STAGES;
        if (phase < width)
            for (int i = tid; i < TILE * DEPTH / 4; i += THREADS) {
                int row = i / (DEPTH / 4), k = i % (DEPTH / 4) * 4;
                copy4(&tile_M[stage][row][k], M, block_row + row, phase + k, width);
                int depth = i / (TILE / 4), col = i % (TILE / 4) * 4;
                copy4(&tile_N[stage][depth][col], N, phase + depth, block_col + col, width);
            }
        __pipeline_commit();
    };

    float Pvalue[8][8] = {};
    for (int stage = 0; stage < STAGES - 1; ++stage) fetch(stage * DEPTH);
    for (int phase = 0; phase < width; phase += DEPTH) {
        __pipeline_wait_prior(STAGES - 2);
        __syncthreads();  // these tiles are complete, and the tiles of the phase before are free
        fetch(phase + (STAGES - 1) * DEPTH);
        int stage = phase / DEPTH % STAGES;
        #pragma unroll
        for (int k4 = 0; k4 < DEPTH; k4 += 4) {
            float4 m[8];
            for (int r = 0; r < 8; ++r) m[r] = *reinterpret_cast<const float4 *>(&tile_M[stage][my_row + 8 * r][k4]);
            for (int k = 0; k < 4; ++k)
                for (int half = 0; half < 2; ++half) {
                    float4 n = *reinterpret_cast<const float4 *>(&tile_N[stage][k4 + k][my_col + 16 * half]);
                    for (int r = 0; r < 8; ++r)
                        for (int c = 0; c < 4; ++c)
                            Pvalue[r][4 * half + c] +=
                                reinterpret_cast<float *>(&m[r])[k] * reinterpret_cast<float *>(&n)[c];
                }
        }
    }

    for (int r = 0; r < 8; ++r)
        for (int half = 0; half < 2; ++half)
            store4(P, block_row + my_row + 8 * r, block_col + my_col + 16 * half, width, &Pvalue[r][4 * half]);
}

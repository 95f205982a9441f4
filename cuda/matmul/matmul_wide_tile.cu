// matmul_wide_tile: 8 x 16 elements a thread, and no bounds test while they are multiplied.
// Idea: at each k a thread reads 24 elements and forms 128 products of them; with 8 x 8 it reads 16 for 64. An
//   asynchronous copy of one word can transpose, so M is read four words at a time again. The first phase takes the
//   remainder of k, and past the border a thread copies the last row or column, whose results are not stored: so no
//   other phase has a test.
// Fixes (matmul_async_copy): instructions that only move or test: 92% of the loop are multiply-adds now, against 89%.
// Limit: registers. The multiply-adds wait for their operands, which often lie in one register bank.
// Conditions: any width (one that 4 does not divide has no 16-byte rows and is copied word by word); blocks of
//   TILE_WIDTH x TILE_WIDTH threads, 8 or 16; compute capability 8.0 or later.
// Lecture: after CS121; more of its own idea, reuse.
constexpr int ROWS = 8, COLUMNS = 16;  // of P, for each thread
constexpr int TILE_ROWS = ROWS * TILE_WIDTH, TILE_COLUMNS = COLUMNS * TILE_WIDTH;  // of P, for each block
constexpr int THREADS = TILE_WIDTH * TILE_WIDTH;
constexpr int DEPTH = 8;  // of a phase
constexpr int PAD = 4;  // shifts the rows, so the transposed copies use different banks

struct Tiles { float M[DEPTH][TILE_ROWS + PAD], N[DEPTH][TILE_COLUMNS]; };  // M transposed

// start to copy words from global to shared memory, if wanted
template <int WORDS> static __device__ void copy(float *to, const float *from, bool wanted)
{
    asm volatile("{ .reg .pred p; setp.ne.s32 p, %2, 0; @p cp.async.ca.shared.global [%0], [%1], %3; }"
                 :: "r"((unsigned int)__cvta_generic_to_shared(to)), "l"(from), "r"(int(wanted)), "n"(4 * WORDS));
}

template <int WORDS>  // of N, moved by one copy
static __device__ void multiply(const float *M, const float *N, float *P, int width, Tiles *tiles)
{
    int tid = threadIdx.y * TILE_WIDTH + threadIdx.x, warp = tid / 32, lane = tid % 32;
    int block_row = blockIdx.y * TILE_ROWS, block_col = blockIdx.x * TILE_COLUMNS;

    // this warp computes a piece of 64 x 64; this thread 4 rows from my_row and 4 from 32 below, 4 columns of every 16
    int my_row = warp / (TILE_COLUMNS / 64) * 64 + 4 * (lane / 2 % 8);
    int my_col = warp % (TILE_COLUMNS / 64) * 64 + 4 * (lane % 2 + lane / 16 * 2);

    // what this thread copies in every phase: past the border the last row or column, whose results are not stored
    const int line = TILE_COLUMNS / WORDS, copies_M = TILE_ROWS * DEPTH / THREADS, copies_N = line * DEPTH / THREADS;
    unsigned int from_M[copies_M], from_N[copies_N];
    for (int i = 0; i < copies_M; ++i)
        from_M[i] = min(block_row + tid / DEPTH + i * (THREADS / DEPTH), width - 1) * width + tid % DEPTH;
    for (int i = 0, j = tid; i < copies_N; ++i, j += THREADS)
        from_N[i] = j / line * width + min(block_col + j % line * WORDS, width - WORDS);

    auto fetch = [&](Tiles &to, int depth, bool wanted) {
        for (int i = 0; i < copies_M; ++i) {
            float *at = &to.M[tid % DEPTH][tid / DEPTH + i * (THREADS / DEPTH)];
            if (tid % DEPTH < depth) copy<1>(at, M + from_M[i], wanted);
            else *at = 0;
        }
        for (int i = 0, j = tid; i < copies_N; ++i, j += THREADS) {
            float *at = &to.N[0][0] + j * WORDS;
            if (depth == DEPTH || j / line < depth) copy<WORDS>(at, N + from_N[i], wanted);
            else for (int word = 0; word < WORDS; ++word) at[word] = 0;
        }
        asm volatile("cp.async.commit_group;");
        M += depth, N += depth * width;
    };
    // the first phase takes the remainder of the k, so the others need no test; it fills up with zeros
    int first = (width - 1) % DEPTH + 1, phases = (width - 1) / DEPTH + 1;
    fetch(tiles[0], first, true);

    __align__(16) float sum[ROWS][COLUMNS] = {};
    #pragma unroll 1
    for (int phase = 0; phase < phases; ++phase) {
        asm volatile("cp.async.wait_group 0;" ::: "memory");
        __syncthreads();  // these tiles are complete, and the tiles of the phase before are free
        fetch(tiles[(phase + 1) % 2], DEPTH, phase + 1 < phases);
        const Tiles &now = tiles[phase % 2];
        #pragma unroll
        for (int k = 0; k < DEPTH; ++k) {
            float4 m[ROWS / 4], n[COLUMNS / 4];
            for (int r = 0; r < ROWS / 4; ++r) m[r] = *reinterpret_cast<const float4 *>(&now.M[k][my_row + 32 * r]);
            for (int c = 0; c < COLUMNS / 4; ++c) n[c] = *reinterpret_cast<const float4 *>(&now.N[k][my_col + 16 * c]);
            const float *m_k = reinterpret_cast<float *>(m), *n_k = reinterpret_cast<float *>(n);
            for (int r = 0; r < ROWS; ++r)
                for (int c = 0; c < COLUMNS; ++c) sum[r][c] += m_k[r] * n_k[c];
        }
    }
    for (int r = 0; r < ROWS; ++r)
        for (int c = 0; c < COLUMNS; c += WORDS) {
            int row = block_row + my_row + r / 4 * 32 + r % 4, col = block_col + my_col + c / 4 * 16 + c % 4;
            float *at = P + row * width + col;
            if (row < width && col < width) {
                if (WORDS == 4) *reinterpret_cast<float4 *>(at) = *reinterpret_cast<float4 *>(&sum[r][c]);
                else *at = sum[r][c];
            }
        }
}

extern "C" __global__ void __launch_bounds__(THREADS, 256 / THREADS)
matmul_wide_tile(const float *M, const float *N, float *P, int width)
{
    __shared__ __align__(16) Tiles tiles[2];
    if (width % 4 == 0) multiply<4>(M, N, P, width, tiles);
    else multiply<1>(M, N, P, width, tiles);
}

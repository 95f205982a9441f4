// matmul_fitted_pieces: sliced sums, and pieces of P whose width is fitted to the number of multiprocessors.
// Idea: count the rounds (waves) of blocks first. Pieces are 64 x 64, 80, 96 or 112; the plan compiles the width with
//   the shortest rounds: COLUMNS is a macro. SLICES is a macro too: 4, or 2 if the number of rounds is even. With 2,
//   blocks are half as large and two share a multiprocessor: one computes, one starts. Below width 25: 2 or 1.
// Fixes (matmul_sliced_k): rounds that are not full. At width 850, 98 pieces of 64 x 128 leave 34 of 132
//   multiprocessors idle; 126 pieces of 64 x 96 leave 6, and take three quarters of the time. If only 2 divides the
//   width, copies have 8 bytes.
// Limit: the multiply-add units; a narrow piece needs more words of shared memory for each product.
// Conditions: any width; 16 threads across, 4 for each slice down; compute capability 8.0 or later.
// Lecture: after CS121: the number of blocks is rounded up, here to full rounds of the multiprocessors.
constexpr int ROWS = 8;  // of P, for each thread; its COLUMNS, 8 to 14, and the WORDS of N moved by one copy are macros
constexpr int TILE_ROWS = ROWS * TILE_WIDTH / 2, TILE_COLUMNS = COLUMNS * TILE_WIDTH / 2;  // of P, for each block
constexpr int THREADS = TILE_WIDTH * TILE_WIDTH / 4;  // of a slice; a block has SLICES of them, 1, 2 or 4, a macro too
constexpr int DEPTH = 8;  // of a phase
constexpr int PAD = 4;  // shifts the rows, so the transposed copies use different banks
struct Tiles { float M[DEPTH][TILE_ROWS + PAD], N[DEPTH][TILE_COLUMNS]; };  // M transposed

// start to copy words from global to shared memory, if wanted; zeros if they lie outside
template <int COUNT> static __device__ void copy(unsigned int to, const float *from, bool wanted, bool inside)
{
    asm volatile("{ .reg .pred p; setp.ne.s32 p, %2, 0; @p cp.async.ca.shared.global [%0], [%1], %3, %4; }"
                 :: "r"(to), "l"(from), "r"(int(wanted)), "n"(4 * COUNT), "r"(inside ? 4 * COUNT : 0));
}

extern "C" __global__ void __launch_bounds__(THREADS * SLICES, 4 / SLICES)
matmul_fitted_pieces(const float *M, const float *N, float *P, int width)
{
    __shared__ __align__(16) Tiles all_tiles[2 * SLICES];
    int slice = __shfl_sync(0xffffffff, (threadIdx.y * TILE_WIDTH + threadIdx.x) / THREADS, 0);
    int tid = (threadIdx.y * TILE_WIDTH + threadIdx.x) % THREADS, warp = tid / 32, lane = tid % 32;
    float (*lines)[TILE_COLUMNS + 1] = reinterpret_cast<float (*)[TILE_COLUMNS + 1]>(all_tiles);
    Tiles *tiles = all_tiles + 2 * slice;
    int block_row = blockIdx.y * TILE_ROWS, block_col = blockIdx.x * TILE_COLUMNS;
    // this warp computes half of the columns; this thread 4 rows from my_row and 4 from 32 below, 4 columns of every 16
    // from my_col, and if COLUMNS is 10 or 14, 2 more from my_pair
    int across = lane % 2 + lane / 16 * 2, my_row = 4 * (lane / 2 % 8);
    int my_col = warp * 4 * COLUMNS + 4 * across, my_pair = warp * 4 * COLUMNS + COLUMNS / 4 * 16 + 2 * across;

    // what this thread copies in every phase: past the border the piece before, whose results are not stored. The last
    // row or column would be slower: copies of one word to many places are made one after the other
    auto within = [=](int at, int piece) { return at < width ? at : max(at - piece, 0); };
    const int line = TILE_COLUMNS / WORDS, copies_M = TILE_ROWS * DEPTH / THREADS;
    const int all_N = line * DEPTH, copies_N = (all_N - 1) / THREADS + 1;
    unsigned int from_M[copies_M], from_N[copies_N];
    for (int i = 0; i < copies_M; ++i)
        from_M[i] = within(block_row + tid / DEPTH + i * (THREADS / DEPTH), TILE_ROWS) * width + tid % DEPTH;
    for (int i = 0, j = tid; i < copies_N; ++i, j += THREADS)
        from_N[i] = j / line * width + within(block_col + j % line * WORDS, TILE_COLUMNS);
    unsigned int to_M = __cvta_generic_to_shared(&tiles->M[tid % DEPTH][tid / DEPTH]);
    unsigned int to_N = __cvta_generic_to_shared(&tiles->N[0][tid * WORDS]);
    auto slice_barrier = [=] { asm volatile("bar.sync %0, %1;" :: "r"(slice + 1), "n"(THREADS) : "memory"); };
    auto fetch = [&](int stage, int depth, bool wanted) {
        unsigned int at = stage * (int)sizeof(Tiles);
        for (int i = 0; i < copies_M; ++i)
            copy<1>(to_M + at + 4 * i * (THREADS / DEPTH), M + from_M[i], wanted, tid % DEPTH < depth);
        for (int i = 0, j = tid; i < copies_N; ++i, j += THREADS)
            copy<WORDS>(to_N + at + 4 * i * THREADS * WORDS, N + from_N[i], wanted && j < all_N, j / line < depth);
        asm volatile("cp.async.commit_group;");
        M += depth, N += depth * width;
    };
    // the first phase takes the remainder of the k, so the others need no test; it fills up with zeros
    int first = (width - 1) % DEPTH + 1, all_phases = (width - 1) / DEPTH + 1;
    int begin = all_phases * slice / SLICES, phases = all_phases * (slice + 1) / SLICES - begin;
    if (begin > 0) M += first + (begin - 1) * DEPTH, N += (first + (begin - 1) * DEPTH) * width;
    fetch(0, phases > 0 ? (begin > 0 ? DEPTH : first) : 0, true);
    fetch(1, phases > 1 ? DEPTH : 0, true);

    float sum[ROWS][COLUMNS] = {};
    float4 m[2][ROWS / 4], n[2][(COLUMNS + 3) / 4];
    auto read = [&](int set, const Tiles &from, int k) {
        auto four = [](const float &first) { return *reinterpret_cast<const float4 *>(&first); };
        for (int r = 0; r < ROWS / 4; ++r) m[set][r] = four(from.M[k][my_row + 32 * r]);
        for (int c = 0; c < COLUMNS / 4; ++c) n[set][c] = four(from.N[k][my_col + 16 * c]);
        const float2 &pair = reinterpret_cast<const float2 &>(from.N[k][my_pair]);
        if (COLUMNS % 4) reinterpret_cast<float2 &>(n[set][COLUMNS / 4]) = pair;
    };
    asm volatile("cp.async.wait_group 1;" ::: "memory");
    slice_barrier();
    read(0, tiles[0], 0);
    #pragma unroll 1
    for (int phase = 0; phase < phases; ++phase) {
        Tiles &now = tiles[phase % 2], &next = tiles[(phase + 1) % 2];
        #pragma unroll
        for (int k = 0; k < DEPTH; ++k) {
            if (k + 1 < DEPTH) read((k + 1) % 2, now, k + 1);
            else {
                asm volatile("cp.async.wait_group 0;" ::: "memory");
                slice_barrier();  // the next tiles are complete, and these are free
                read(0, next, 0);
                fetch(phase % 2, DEPTH, phase + 2 < phases);
            }
            const float *m_k = reinterpret_cast<float *>(m[k % 2]), *n_k = reinterpret_cast<float *>(n[k % 2]);
            #pragma unroll
            for (int c = 0; c < COLUMNS; ++c)
                for (int i = 0; i < ROWS; ++i) {  // the rows back and forth
                    int r = c % 2 ? ROWS - 1 - i : i;
                    sum[r][c] += m_k[r] * n_k[c];
                }
        }
    }
    // through shared memory, a quarter of the rows at a time: the slices' sums are added, and warps store neighbours
    #pragma unroll
    for (int r = 0; r < ROWS; r += 2) {
        __syncthreads();  // the tiles, or the lines before, are no longer needed
        for (int i = 0; i < 2 * COLUMNS; ++i) {
            int c = i % COLUMNS, col = c < COLUMNS / 4 * 4 ? my_col + c / 4 * 16 + c % 4 : my_pair + c % 4;
            lines[slice * 16 + i / COLUMNS * 8 + my_row / 4][col] = sum[r + i / COLUMNS][c];
        }
        __syncthreads();  // the lines are complete
        #pragma unroll 2
        for (int i = slice * THREADS + tid; i < 16 * TILE_COLUMNS; i += SLICES * THREADS) {
            int line = i / TILE_COLUMNS, row = block_row + line % 8 * 4 + line / 8 + r / 4 * 32 + r % 4;
            int at = i % TILE_COLUMNS, col = block_col + at;
            float total = 0;
            for (int other = 0; other < SLICES; ++other) total += lines[other * 16 + line][at];
            if (row < width && col < width) P[row * width + col] = total;
        }
    }
}

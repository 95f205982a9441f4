// matmul_sliced_k: 8 x 16 elements a thread, and four slices of a block divide each sum along k.
// Idea: divide the sums, not the matrix. The block keeps its threads and computes a smaller piece of P: each of its
//   four slices, 64 threads with a ring of tiles and a barrier, adds a quarter of the k. Then the four sums are added.
// Fixes (matmul_prefetch): idle multiprocessors. At width 1024 there are 128 blocks of 64 x 128, not 32 of 128 x 256.
// Limit: the multiply-add units; below a width of about 800 there are too few blocks again.
// Conditions: any width; blocks of 16 x 16 threads; compute capability 8.0 or later.
// Lecture: after CS121; a long sum can be divided, as in every reduction.
constexpr int ROWS = 8, COLUMNS = 16;  // of P, for each thread
constexpr int TILE_ROWS = ROWS * TILE_WIDTH / 2, TILE_COLUMNS = COLUMNS * TILE_WIDTH / 2;  // of P, for each block
constexpr int SLICES = 4, THREADS = TILE_WIDTH * TILE_WIDTH / SLICES, DEPTH = 8;  // of a slice, and of its phases
// M transposed; row r of depth k lies at r ^ 4k, so the transposed copies use different banks
struct Tiles { float M[DEPTH][TILE_ROWS], N[DEPTH][TILE_COLUMNS]; };

// start to copy words from global to shared memory, if wanted
template <int WORDS> static __device__ void copy(float *to, const float *from, bool wanted)
{
    asm volatile("{ .reg .pred p; setp.ne.s32 p, %2, 0; @p cp.async.ca.shared.global [%0], [%1], %3; }"
                 :: "r"((unsigned int)__cvta_generic_to_shared(to)), "l"(from), "r"(int(wanted)), "n"(4 * WORDS));
}

template <int WORDS>  // of N, moved by one copy
static __device__ void multiply(const float *M, const float *N, float *P, int width, Tiles *tiles)
{
    int slice = __shfl_sync(0xffffffff, (threadIdx.y * TILE_WIDTH + threadIdx.x) / THREADS, 0);
    int tid = (threadIdx.y * TILE_WIDTH + threadIdx.x) % THREADS, warp = tid / 32, lane = tid % 32;
    float (*lines)[TILE_COLUMNS + 1] = reinterpret_cast<float (*)[TILE_COLUMNS + 1]>(tiles);
    tiles += 2 * slice;
    int block_row = blockIdx.y * TILE_ROWS, block_col = blockIdx.x * TILE_COLUMNS;
    // this warp computes a piece of 64 x 64; this thread 4 rows from my_row and 4 from 32 below, 4 columns of every 16
    int my_row = warp / (TILE_COLUMNS / 64) * 64 + 4 * (lane / 2 % 8);
    int my_col = warp % (TILE_COLUMNS / 64) * 64 + 4 * (lane % 2 + lane / 16 * 2);

    // what this thread copies in every phase: past the border the piece before, whose results are not stored
    auto within = [=](int at, int piece) { return at < width ? at : max(at - piece, 0); };
    const int line = TILE_COLUMNS / WORDS, copies_M = TILE_ROWS * DEPTH / THREADS, copies_N = line * DEPTH / THREADS;
    unsigned int from_M[copies_M], from_N[copies_N];
    for (int i = 0; i < copies_M; ++i)
        from_M[i] = within(block_row + tid / DEPTH + i * (THREADS / DEPTH), TILE_ROWS) * width + tid % DEPTH;
    for (int i = 0, j = tid; i < copies_N; ++i, j += THREADS)
        from_N[i] = j / line * width + within(block_col + j % line * WORDS, TILE_COLUMNS);
    auto slice_barrier = [=] { asm volatile("bar.sync %0, %1;" :: "r"(slice + 1), "n"(THREADS) : "memory"); };
    auto fetch = [&](Tiles &to, int depth, bool wanted) {
        for (int i = 0; i < copies_M; ++i) {
            float *at = &to.M[tid % DEPTH][(tid / DEPTH + i * (THREADS / DEPTH)) ^ 4 * (tid % DEPTH)];
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
    int first = (width - 1) % DEPTH + 1, all_phases = (width - 1) / DEPTH + 1;
    int begin = all_phases * slice / SLICES, phases = all_phases * (slice + 1) / SLICES - begin;
    if (begin > 0) M += first + (begin - 1) * DEPTH, N += (first + (begin - 1) * DEPTH) * width;
    fetch(tiles[0], phases > 0 ? (begin > 0 ? DEPTH : first) : 0, true);
    fetch(tiles[1], phases > 1 ? DEPTH : 0, true);

    float sum[ROWS][COLUMNS] = {};
    float4 m[2][ROWS / 4], n[2][COLUMNS / 4];
    auto read = [&](int set, const Tiles &from, int k) {
        auto four = [](const float &first) { return *reinterpret_cast<const float4 *>(&first); };
        for (int r = 0; r < ROWS / 4; ++r) m[set][r] = four(from.M[k][(my_row ^ 4 * k) + 32 * r]);
        for (int c = 0; c < COLUMNS / 4; ++c) n[set][c] = four(from.N[k][my_col + 16 * c]);
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
                fetch(now, DEPTH, phase + 2 < phases);
            }
            const float *m_k = reinterpret_cast<float *>(m[k % 2]), *n_k = reinterpret_cast<float *>(n[k % 2]);
            #pragma unroll
            for (int j = 0; j < COLUMNS; ++j)
                for (int i = 0; i < ROWS; ++i) {  // four even columns, four odd ones; the rows back and forth
                    int c = j / 8 * 8 + j % 4 * 2 + j / 4 % 2, r = j % 2 ? ROWS - 1 - i : i;
                    sum[r][c] += m_k[r] * n_k[c];
                }
        }
    }
    // through shared memory, a quarter of the rows at a time: the slices' sums are added, and warps store neighbours
    #pragma unroll
    for (int r = 0; r < ROWS; r += 2) {
        __syncthreads();  // the tiles, or the lines before, are no longer needed
        for (int c = 0; c < 2 * COLUMNS; ++c)
            lines[slice * 16 + c / COLUMNS * 8 + my_row / 4][my_col + c % COLUMNS / 4 * 16 + c % 4] =
                sum[r + c / COLUMNS][c % COLUMNS];
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

extern "C" __global__ void __launch_bounds__(THREADS * SLICES, 1)
matmul_sliced_k(const float *M, const float *N, float *P, int width)
{
    __shared__ __align__(16) Tiles tiles[2 * SLICES];
    if (width % 4 == 0) multiply<4>(M, N, P, width, tiles);
    else multiply<1>(M, N, P, width, tiles);
}

// matmul_stream_k: all blocks share the products evenly, and several blocks may work on one piece of P.
// Idea: lay the phases of all pieces in one line and cut it into as many equal shares as there are multiprocessors. A
//   block that has a whole piece stores it; one that has a part of it adds its sums to P, which starts as zeros.
// Fixes (matmul_sliced_k): the last, partial round. At width 1500, 288 pieces of 64 x 128 are 132, 132 and 24.
// Limit: the multiply-add units. If more than two blocks share a piece, their order decides the last bits.
// Conditions: any width; blocks of 16 x 16 threads; compute capability 8.0 or later; P is zero before.
// Lecture: after CS121; as in a grid-stride loop, the grid need not have the shape of the data.
constexpr int ROWS = 8, COLUMNS = 16;  // of P, for each thread
constexpr int TILE_ROWS = ROWS * TILE_WIDTH / 2, TILE_COLUMNS = COLUMNS * TILE_WIDTH / 2;  // of P, for each block
constexpr int SLICES = 4, THREADS = TILE_WIDTH * TILE_WIDTH / SLICES, DEPTH = 8;  // of a slice, and of its phases
// M transposed; row r of depth k lies at r ^ 4k, so the transposed copies use different banks
struct Tiles { float M[DEPTH][TILE_ROWS], N[DEPTH][TILE_COLUMNS]; };
struct Share { int row, col, begin, end; };  // of a piece of P: its place, and a range of its phases

// start to copy words from global to shared memory, or zeros
template <int WORDS> static __device__ void copy(float *to, const float *from, bool wanted)
{
    asm volatile("cp.async.ca.shared.global [%0], [%1], %2, %3;"
                 :: "r"(int(__cvta_generic_to_shared(to))), "l"(from), "n"(4 * WORDS), "r"(4 * WORDS * wanted));
}

template <int WORDS>  // of N, moved by one copy
static __device__ void multiply(const float *M, const float *N, float *P, int width, Tiles *tiles, Share share)
{
    int slice = __shfl_sync(0xffffffff, (threadIdx.y * TILE_WIDTH + threadIdx.x) / THREADS, 0);
    int tid = (threadIdx.y * TILE_WIDTH + threadIdx.x) % THREADS, warp = tid / 32, lane = tid % 32;
    float (*lines)[TILE_COLUMNS + 1] = reinterpret_cast<float (*)[TILE_COLUMNS + 1]>(tiles);
    tiles += 2 * slice;
    // this warp computes a piece of 64 x 64; this thread 4 rows from my_row and 4 from 32 below, 4 columns of every 16
    int my_row = warp / (TILE_COLUMNS / 64) * 64 + 4 * (lane / 2 % 8);
    int my_col = warp % (TILE_COLUMNS / 64) * 64 + 4 * (lane % 2 + lane / 16 * 2);
    // what this thread copies in every phase: past the border the last row or column, whose results are not stored
    const int line = TILE_COLUMNS / WORDS, copies_M = TILE_ROWS * DEPTH / THREADS, copies_N = line * DEPTH / THREADS;
    unsigned int from_M[copies_M], from_N[copies_N];
    for (int i = 0; i < copies_M; ++i)
        from_M[i] = min(share.row + tid / DEPTH + i * (THREADS / DEPTH), width - 1) * width + tid % DEPTH;
    for (int i = 0, j = tid; i < copies_N; ++i, j += THREADS)
        from_N[i] = j / line * width + min(share.col + j % line * WORDS, width - WORDS);
    auto slice_barrier = [=] { asm volatile("bar.sync %0, %1;" :: "r"(slice + 1), "n"(THREADS) : "memory"); };
    auto fetch = [&](Tiles &to, int depth) {
        for (int i = 0, row = tid / DEPTH; i < copies_M; ++i, row += THREADS / DEPTH)
            copy<1>(&to.M[tid % DEPTH][row ^ 4 * (tid % DEPTH)], M + from_M[i], tid % DEPTH < depth);
        for (int i = 0, j = tid; i < copies_N; ++i, j += THREADS)
            copy<WORDS>(&to.N[0][0] + j * WORDS, N + from_N[i], j / line < depth);
        asm volatile("cp.async.commit_group;");
        M += depth, N += depth * width;
    };
    // the first phase of a piece takes the remainder of the k, so the others need no test; it fills up with zeros
    int first = (width - 1) % DEPTH + 1, part = (share.end - share.begin) * slice / SLICES, begin = share.begin + part;
    int phases = (share.end - share.begin) * (slice + 1) / SLICES - part;
    if (begin > 0) M += first + (begin - 1) * DEPTH, N += (first + (begin - 1) * DEPTH) * width;
    fetch(tiles[0], phases > 0 ? (begin > 0 ? DEPTH : first) : 0);
    fetch(tiles[1], phases > 1 ? DEPTH : 0);
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
                fetch(now, phase + 2 < phases ? DEPTH : 0);
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
    asm volatile("cp.async.wait_group 0;" ::: "memory");  // also for copies that bring only zeros
    // through shared memory, a quarter of the rows at a time: the slices' sums are added, and warps store neighbours
    bool whole = share.begin == 0 && share.end == (width - 1) / DEPTH + 1;
    #pragma unroll
    for (int r = 0; r < ROWS; r += 2) {
        __syncthreads();  // the tiles, or the lines before, are no longer needed
        for (int c = 0; c < 2 * COLUMNS; ++c)
            lines[slice * 16 + c / COLUMNS * 8 + my_row / 4][my_col + c % COLUMNS / 4 * 16 + c % 4] =
                sum[r + c / COLUMNS][c % COLUMNS];
        __syncthreads();  // the lines are complete
        #pragma unroll 2
        for (int i = slice * THREADS + tid; i < 16 * TILE_COLUMNS; i += SLICES * THREADS) {
            int line = i / TILE_COLUMNS, row = share.row + line % 8 * 4 + line / 8 + r / 4 * 32 + r % 4;
            int at = i % TILE_COLUMNS, col = share.col + at, to = row * width + col;
            float total = 0;
            for (int other = 0; other < SLICES; ++other) total += lines[other * 16 + line][at];
            if (row < width && col < width) whole ? P[to] = total : atomicAdd(&P[to], total);
        }
    }
    __syncthreads();  // the lines are no longer needed
}

extern "C" __global__ void __launch_bounds__(THREADS * SLICES, 1)
matmul_stream_k(const float *M, const float *N, float *P, int width)
{
    __shared__ __align__(16) Tiles tiles[2 * SLICES];
    int phases = (width - 1) / DEPTH + 1, across = (width - 1) / TILE_COLUMNS + 1;
    int all = ((width - 1) / TILE_ROWS + 1) * across * phases, each = (all - 1) / gridDim.x + 1;
    for (int at = blockIdx.x * each, end = min(at + each, all), piece = at / phases; at < end; at = ++piece * phases) {
        int row = piece / across * TILE_ROWS, col = piece % across * TILE_COLUMNS;
        Share share = {row, col, at - piece * phases, min(end - piece * phases, phases)};
        if (width % 4 == 0) multiply<4>(M, N, P, width, tiles, share);
        else multiply<1>(M, N, P, width, tiles, share);
    }
}

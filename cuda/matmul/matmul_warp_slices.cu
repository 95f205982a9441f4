// matmul_warp_slices: pieces of P of 32 x 32, and each of a block's eight warps adds up an eighth of the k.
// Idea: the smallest slice is a warp. It computes all of the block's piece, 4 x 8 sums a thread, with a ring of tiles
//   of its own, and waits for no other warp: __syncwarp() is barrier enough. Then the eight warps' sums are added.
// Fixes (matmul_sliced_k): idle multiprocessors at small widths: at 512 there are 256 blocks, and 32 in
//   matmul_sliced_k. And long code, which has to be fetched when the L2 is cold: this kernel has half as many
//   instructions.
// Limit: shared memory: 12 words of it for 32 products, where 8 x 16 sums need 24 for 128. From a width of about 800 on
//   matmul_stream_k is mostly faster.
// Conditions: any width; blocks of 16 x 16 threads; compute capability 8.0 or later.
// Lecture: after CS121; a long sum can be divided, here among the warps of a block.
constexpr int ROWS = 4, COLUMNS = 8;  // of P, for each thread
constexpr int TILE = 2 * TILE_WIDTH;  // rows and columns of P, for each block, and for each warp of it
constexpr int WARPS = TILE_WIDTH * TILE_WIDTH / 32;
constexpr int DEPTH = 8;  // of a phase
// M transposed; row r of depth k lies at r ^ 4k, so the transposed copies use different banks
struct Tiles { float M[DEPTH][TILE], N[DEPTH][TILE]; };
union Shared { Tiles tiles[WARPS][2]; float lines[WARPS][TILE][TILE + 1]; };

// start to copy words from global to shared memory, if wanted
template <int WORDS> static __device__ void copy(float *to, const float *from, bool wanted)
{
    asm volatile("{ .reg .pred p; setp.ne.s32 p, %2, 0; @p cp.async.ca.shared.global [%0], [%1], %3; }"
                 :: "r"((unsigned int)__cvta_generic_to_shared(to)), "l"(from), "r"(int(wanted)), "n"(4 * WORDS));
}

template <int WORDS>  // of N, moved by one copy
static __device__ void multiply(const float *M, const float *N, float *P, int width, Shared &shared)
{
    int tid = threadIdx.y * TILE_WIDTH + threadIdx.x, warp = __shfl_sync(0xffffffff, tid / 32, 0), lane = tid % 32;
    Tiles *tiles = shared.tiles[warp];
    int block_row = blockIdx.y * TILE, block_col = blockIdx.x * TILE;
    int my_row = 4 * (lane / 2 % 8), my_col = 4 * (lane % 2 + lane / 16 * 2);  // 4 rows, and 4 columns of every 16

    // what this thread copies in every phase: past the border the piece before, whose results are not stored
    auto within = [=](int at, int piece) { return at < width ? at : max(at - piece, 0); };
    const int line = TILE / WORDS, copies_M = TILE * DEPTH / 32, copies_N = line * DEPTH / 32;
    unsigned int from_M[copies_M], from_N[copies_N];
    for (int i = 0; i < copies_M; ++i)
        from_M[i] = within(block_row + lane / DEPTH + i * (32 / DEPTH), TILE) * width + lane % DEPTH;
    for (int i = 0, j = lane; i < copies_N; ++i, j += 32)
        from_N[i] = j / line * width + within(block_col + j % line * WORDS, TILE);
    auto fetch = [&](Tiles &to, int depth, bool wanted) {
        for (int i = 0; i < copies_M; ++i) {
            float *at = &to.M[lane % DEPTH][(lane / DEPTH + i * (32 / DEPTH)) ^ 4 * (lane % DEPTH)];
            if (lane % DEPTH < depth) copy<1>(at, M + from_M[i], wanted);
            else *at = 0;
        }
        for (int i = 0, j = lane; i < copies_N; ++i, j += 32) {
            float *at = &to.N[0][0] + j * WORDS;
            if (depth == DEPTH || j / line < depth) copy<WORDS>(at, N + from_N[i], wanted);
            else for (int word = 0; word < WORDS; ++word) at[word] = 0;
        }
        asm volatile("cp.async.commit_group;");
        M += depth, N += depth * width;
    };
    // the first phase takes the remainder of the k, so the others need no test; it fills up with zeros
    int first = (width - 1) % DEPTH + 1, all_phases = (width - 1) / DEPTH + 1;
    int begin = all_phases * warp / WARPS, phases = all_phases * (warp + 1) / WARPS - begin;
    if (begin > 0) M += first + (begin - 1) * DEPTH, N += (first + (begin - 1) * DEPTH) * width;
    fetch(tiles[0], phases > 0 ? (begin > 0 ? DEPTH : first) : 0, true);
    fetch(tiles[1], phases > 1 ? DEPTH : 0, true);

    float sum[ROWS][COLUMNS] = {};
    float4 m[2], n[2][COLUMNS / 4];
    auto read = [&](int set, const Tiles &from, int k) {
        auto four = [](const float &first) { return *reinterpret_cast<const float4 *>(&first); };
        m[set] = four(from.M[k][my_row ^ 4 * k]);
        for (int c = 0; c < COLUMNS / 4; ++c) n[set][c] = four(from.N[k][my_col + 16 * c]);
    };
    asm volatile("cp.async.wait_group 1;" ::: "memory");
    __syncwarp();
    read(0, tiles[0], 0);
    int stage = 0;
    #pragma unroll 1
    for (int phase = 0; phase < phases; ++phase) {
        Tiles &now = tiles[stage];
        stage = 1 - stage;
        Tiles &next = tiles[stage];
        #pragma unroll
        for (int k = 0; k < DEPTH; ++k) {
            if (k + 1 < DEPTH) read((k + 1) % 2, now, k + 1);
            else {
                asm volatile("cp.async.wait_group 0;" ::: "memory");
                __syncwarp();  // the next tiles are complete, and these are free
                read(0, next, 0);
                fetch(now, DEPTH, phase + 2 < phases);
            }
            const float *m_k = reinterpret_cast<float *>(&m[k % 2]), *n_k = reinterpret_cast<float *>(n[k % 2]);
            #pragma unroll
            for (int c = 0; c < COLUMNS; ++c)
                for (int i = 0; i < ROWS; ++i) {  // the rows back and forth
                    int r = c % 2 ? ROWS - 1 - i : i;
                    sum[r][c] += m_k[r] * n_k[c];
                }
        }
    }
    // add the warps' sums in shared memory; a warp stores neighbours
    asm volatile("cp.async.wait_group 0;" ::: "memory");
    __syncthreads();  // the tiles are no longer needed
    for (int r = 0; r < ROWS; ++r)
        for (int c = 0; c < COLUMNS; ++c)
            shared.lines[warp][8 * r + my_row / 4][my_col + c / 4 * 16 + c % 4] = sum[r][c];
    __syncthreads();  // the lines are complete
    for (int i = warp; i < TILE; i += WARPS) {
        int row = block_row + i % 8 * 4 + i / 8, col = block_col + lane;
        float total = 0;
        for (int other = 0; other < WARPS; ++other) total += shared.lines[other][i][lane];
        if (row < width && col < width) P[row * width + col] = total;
    }
}

extern "C" __global__ void __launch_bounds__(32 * WARPS, 2)
matmul_warp_slices(const float *M, const float *N, float *P, int width)
{
    __shared__ __align__(16) Shared shared;
    if (width % 4 == 0) multiply<4>(M, N, P, width, shared);
    else multiply<1>(M, N, P, width, shared);
}

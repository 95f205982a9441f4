// tensor_mma: tiles in shared memory, read matrix by matrix for the tensor cores.
// Idea: the lessons of the float kernels. A block copies tiles asynchronously, three phases deep; ldmatrix reads 8 x 8
//   elements for a warp at once, in the order of the tensor cores (transposed, for N); and a warp keeps 64 x 32 sums,
//   so 6 reads feed 16 products. The columns of the tiles are swizzled by row: no reads conflict in a bank.
// Fixes (tensor_wmma): operands from global memory, fetched anew for each product.
// Limit: the warps themselves, which must issue each 16 x 8 product and hold its operands in registers.
// Conditions: the width is a multiple of 128; blocks of 256 threads; compute capability 8.0 or later. T is the 16 bits
//   of a bfloat16; sums are float.
// Lecture: after CS121: tiling, for the tensor cores.
constexpr int ROWS = 128, COLUMNS = 128;  // of P, for each block
constexpr int DEPTH = 32, STAGES = 3;  // of a phase; in flight
constexpr int BAND = 8;  // rows of blocks that run side by side, so they share the L2
struct Stage { T M[ROWS][DEPTH], N[DEPTH][COLUMNS]; };  // eight elements, a chunk, are moved and read together

static __device__ unsigned int address(const void *shared) { return (unsigned int)__cvta_generic_to_shared(shared); }

// the place of chunk c of row r of a stage
static __device__ T *chunk_M(Stage &stage, int r, int c) { return &stage.M[r][8 * (c ^ r / 2 % 4)]; }
static __device__ T *chunk_N(Stage &stage, int r, int c) { return &stage.N[r][8 * (c ^ r % 8)]; }

static __device__ void copy(T *to, const T *from)
{
    asm volatile("cp.async.cg.shared.global [%0], [%1], 16;" :: "r"(address(to)), "l"(from));
}

extern "C" __global__ void __launch_bounds__(256, 2)
tensor_mma(const T *M, const T *N, float *P, int width)
{
    __shared__ __align__(128) Stage stages[STAGES];
    int tid = threadIdx.x, warp = tid / 32, lane = tid % 32;
    int across = width / COLUMNS, band = blockIdx.x / (BAND * across), in_band = blockIdx.x % (BAND * across);
    int high = min(BAND, width / ROWS - band * BAND);
    int block_row = (band * BAND + in_band % high) * ROWS, block_col = in_band / high * COLUMNS;
    int my_row = warp / 4 * 64, my_col = warp % 4 * 32;  // of the block's piece, for this warp

    auto fetch = [&](int phase) {
        Stage &to = stages[phase % STAGES];
        for (int i = tid; phase * DEPTH < width && i < ROWS * DEPTH / 8; i += 256) {
            int r = i / (DEPTH / 8), c = i % (DEPTH / 8);
            copy(chunk_M(to, r, c), M + (block_row + r) * width + phase * DEPTH + 8 * c);
        }
        for (int i = tid; phase * DEPTH < width && i < DEPTH * COLUMNS / 8; i += 256) {
            int r = i / (COLUMNS / 8), c = i % (COLUMNS / 8);
            copy(chunk_N(to, r, c), N + (phase * DEPTH + r) * width + block_col + 8 * c);
        }
        asm volatile("cp.async.commit_group;");
    };
    float sum[4][4][4] = {};  // of 4 x 4 products of 16 x 8, this thread's four sums of each
    for (int phase = 0; phase < STAGES - 1; ++phase) fetch(phase);
    for (int phase = 0; phase < width / DEPTH; ++phase) {
        asm volatile("cp.async.wait_group %0;" :: "n"(STAGES - 2) : "memory");
        __syncthreads();  // this phase has arrived, and the one before is free
        fetch(phase + STAGES - 1);
        Stage &now = stages[phase % STAGES];
        #pragma unroll
        for (int k = 0; k < DEPTH; k += 16) {
            unsigned int m[4][4], n[4][2];
            for (int i = 0; i < 4; ++i)
                asm volatile("ldmatrix.sync.aligned.m8n8.x4.shared.b16 {%0, %1, %2, %3}, [%4];"
                             : "=r"(m[i][0]), "=r"(m[i][1]), "=r"(m[i][2]), "=r"(m[i][3])
                             : "r"(address(chunk_M(now, my_row + 16 * i + lane % 16, k / 8 + lane / 16))));
            for (int j = 0; j < 4; j += 2)
                asm volatile("ldmatrix.sync.aligned.m8n8.x4.trans.shared.b16 {%0, %1, %2, %3}, [%4];"
                             : "=r"(n[j][0]), "=r"(n[j][1]), "=r"(n[j + 1][0]), "=r"(n[j + 1][1])
                             : "r"(address(chunk_N(now, k + lane % 16, my_col / 8 + j + lane / 16))));
            for (int i = 0; i < 4; ++i)
                for (int j = 0; j < 4; ++j)
                    asm volatile("mma.sync.aligned.m16n8k16.row.col.f32.bf16.bf16.f32 {%0, %1, %2, %3}, "
                                 "{%4, %5, %6, %7}, {%8, %9}, {%0, %1, %2, %3};"
                                 : "+f"(sum[i][j][0]), "+f"(sum[i][j][1]), "+f"(sum[i][j][2]), "+f"(sum[i][j][3])
                                 : "r"(m[i][0]), "r"(m[i][1]), "r"(m[i][2]), "r"(m[i][3]), "r"(n[j][0]), "r"(n[j][1]));
        }
    }
    for (int i = 0; i < 4; ++i)
        for (int j = 0; j < 4; ++j)
            for (int half = 0; half < 2; ++half) {
                int row = block_row + my_row + 16 * i + 8 * half + lane / 4;
                int col = block_col + my_col + 8 * j + lane % 4 * 2;
                float2 two = {sum[i][j][2 * half], sum[i][j][2 * half + 1]};
                *reinterpret_cast<float2 *>(&P[row * width + col]) = two;
            }
}

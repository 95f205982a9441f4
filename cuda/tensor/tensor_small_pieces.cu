// tensor_small_pieces: pieces of P so small that all multiprocessors have one, and as many stages as fit.
// Idea: pieces of 64 rows for each warpgroup and of 128 columns, or of 64 if even those are too few. With all the
//   shared memory for stages, most of a small piece's operands are requested before the first has arrived.
// Fixes (tensor_whole_lines): idle multiprocessors at small widths. At 1,024 there were 32 pieces for 132 of them.
// Limit: the latency before the first product at small widths; above 2,048 the L2: for each product a piece of
//   128 x 256 reads three quarters as much as one of 128 x 128, and half as much as one of 64 x 128.
// Conditions: the width is a multiple of 256; 128 or 256 threads multiply, and one thread of another warp fetches;
//   compute capability 9.0 only. T is the 16 bits of a bfloat16; sums are float. M and N come as tensor maps for the
//   copy engine: boxes of 64 x ROWS and 64 x 64.
// Lecture: after CS121, with Hopper's units.
typedef unsigned long long u64;
constexpr int GROUPS = BLOCK_SIZE / 128, ROWS = 64 * GROUPS;  // of P, for each block; and COLUMNS, 64 or 128
constexpr int DEPTH = 64, STAGES = 1536 / (ROWS + COLUMNS);  // of a phase; in flight or in use: 192 KB
struct alignas(64) TensorMap { u64 words[16]; };  // describes a matrix to the copy engine; the host fills it in
struct Stage { T M[ROWS][DEPTH], N[COLUMNS / 64][DEPTH][64]; };
struct Turned { float4 words[16][8]; };  // 16 x 32 sums of a warp that are being stored
struct alignas(1024) Shared { Stage stages[STAGES]; Turned turned[4 * GROUPS]; u64 full[STAGES], empty[STAGES]; };

static __device__ unsigned int address(const void *shared) { return (unsigned int)__cvta_generic_to_shared(shared); }

static __device__ void wait(u64 *barrier, int parity)
{
    asm volatile("{ .reg .pred done; again: mbarrier.try_wait.parity.shared::cta.b64 done, [%0], %1; "
                 "@!done bra again; }" :: "r"(address(barrier)), "r"(parity) : "memory");
}

// start to copy a box of 64 columns of a matrix, from column x and row y on; the barrier counts its bytes
static __device__ void copy(void *to, const TensorMap &map, u64 *barrier, int x, int y)
{
    asm volatile("cp.async.bulk.tensor.2d.shared::cluster.global.mbarrier::complete_tx::bytes [%0], "
                 "[%1, {%3, %4}], [%2];"
                 :: "r"(address(to)), "l"(&map), "r"(address(barrier)), "r"(x), "r"(y) : "memory");
}

// describes a matrix in shared memory to the tensor cores: groups of 8 rows of 128 bytes, swizzled by the copy
static __device__ u64 matrix(const void *shared, int next_columns)
{
    return u64(address(shared) >> 4) | u64(next_columns >> 4) << 16 | u64(1024 >> 4) << 32 | 1ull << 62;
}

// a thread's sums of a warpgroup's 64 x 64 or 64 x 128, as operands; the first product overwrites them
#define EIGHT(i) "+f"(d[i]), "+f"(d[i + 1]), "+f"(d[i + 2]), "+f"(d[i + 3]), "+f"(d[i + 4]), "+f"(d[i + 5]), \
                 "+f"(d[i + 6]), "+f"(d[i + 7])
static __device__ void multiply(float (&d)[32], u64 m, u64 n, int add)
{
    asm volatile("{ .reg .pred p; setp.ne.s32 p, %34, 0; wgmma.mma_async.sync.aligned.m64n64k16.f32.bf16.bf16 "
                 "{%0, %1, %2, %3, %4, %5, %6, %7, %8, %9, %10, %11, %12, %13, %14, %15, %16, %17, %18, %19, %20, "
                 "%21, %22, %23, %24, %25, %26, %27, %28, %29, %30, %31}, %32, %33, p, 1, 1, 0, 1; }"
                 : EIGHT(0), EIGHT(8), EIGHT(16), EIGHT(24) : "l"(m), "l"(n), "r"(add));
}

static __device__ void multiply(float (&d)[64], u64 m, u64 n, int add)
{
    asm volatile("{ .reg .pred p; setp.ne.s32 p, %66, 0; wgmma.mma_async.sync.aligned.m64n128k16.f32.bf16.bf16 "
                 "{%0, %1, %2, %3, %4, %5, %6, %7, %8, %9, %10, %11, %12, %13, %14, %15, %16, %17, %18, %19, %20, "
                 "%21, %22, %23, %24, %25, %26, %27, %28, %29, %30, %31, %32, %33, %34, %35, %36, %37, %38, %39, "
                 "%40, %41, %42, %43, %44, %45, %46, %47, %48, %49, %50, %51, %52, %53, %54, %55, %56, %57, %58, "
                 "%59, %60, %61, %62, %63}, %64, %65, p, 1, 1, 0, 1; }"
                 : EIGHT(0), EIGHT(8), EIGHT(16), EIGHT(24), EIGHT(32), EIGHT(40), EIGHT(48), EIGHT(56)
                 : "l"(m), "l"(n), "r"(add));
}

extern "C" __global__ void __launch_bounds__(BLOCK_SIZE + 32, 1)
tensor_small_pieces(const __grid_constant__ TensorMap M, const __grid_constant__ TensorMap N, float *P, int width)
{
    extern __shared__ __align__(1024) unsigned char memory[];
    Shared &shared = *reinterpret_cast<Shared *>(memory);
    int group = threadIdx.x / 128, tid = threadIdx.x % 128;  // the last group is a single warp, which fetches
    int across = width / COLUMNS, phases = width / DEPTH;
    int row = blockIdx.x / across * ROWS, col = blockIdx.x % across * COLUMNS;
    for (int s = 0; threadIdx.x == 0 && s < STAGES; ++s)
        asm volatile("mbarrier.init.shared::cta.b64 [%0], 1; mbarrier.init.shared::cta.b64 [%1], %2;"
                     :: "r"(address(&shared.full[s])), "r"(address(&shared.empty[s])), "n"(GROUPS));
    asm volatile("fence.proxy.async.shared::cta;" ::: "memory");
    __syncthreads();
    if (group == GROUPS) {
        for (int phase = 0; tid == 0 && phase < phases; ++phase) {
            int s = phase % STAGES;
            wait(&shared.empty[s], (phase / STAGES + 1) % 2);
            asm volatile("mbarrier.arrive.expect_tx.shared::cta.b64 _, [%0], %1;"
                         :: "r"(address(&shared.full[s])), "n"(sizeof(Stage)) : "memory");
            copy(shared.stages[s].M, M, &shared.full[s], phase * DEPTH, row);
            for (int c = 0; c < COLUMNS / 64; ++c)
                copy(shared.stages[s].N[c], N, &shared.full[s], col + 64 * c, phase * DEPTH);
        }
        return;
    }
    float sum[COLUMNS / 2];
    for (int phase = 0; phase < phases; ++phase) {
        Stage &now = shared.stages[phase % STAGES];
        wait(&shared.full[phase % STAGES], phase / STAGES % 2);
        asm volatile("wgmma.fence.sync.aligned;" ::: "memory");
        u64 m = matrix(now.M[64 * group], 16), n = matrix(now.N, sizeof(now.N[0]));
        #pragma unroll
        for (int k = 0; k < DEPTH / 16; ++k) multiply(sum, m + 2 * k, n + 128 * k, phase + k);  // 32 bytes, 16 rows on
        asm volatile("wgmma.commit_group.sync.aligned; wgmma.wait_group.sync.aligned 1;" ::: "memory");
        if (tid == 0 && phase > 0)  // the products of the phase before are done
            asm volatile("mbarrier.arrive.shared::cta.b64 _, [%0];"
                         :: "r"(address(&shared.empty[(phase - 1) % STAGES])) : "memory");
    }
    asm volatile("wgmma.wait_group.sync.aligned 0;" ::: "memory");
    // 16 rows of a warp, 32 columns at a time: in its lanes' order to shared memory, and row by row from there
    int warp = threadIdx.x / 32, lane = tid % 32, y = lane / 8, x = lane % 8;
    float4 (*turned)[8] = shared.turned[warp].words;
    #pragma unroll
    for (int part = 0; part < COLUMNS / 32; ++part) {
        for (int j = 0; j < 8; ++j) {  // two neighbours of a row, then of the row 8 further
            int down = lane / 4 + j % 2 * 8, word = j / 2 * 2 + lane % 4 / 2;
            float2 two = {sum[16 * part + 2 * j], sum[16 * part + 2 * j + 1]};
            reinterpret_cast<float2 *>(&turned[down][word ^ down % 8])[lane % 2] = two;
        }
        __syncwarp();
        float *to = &P[(row + 16 * warp + y) * width + col + 32 * part + 4 * x];
        for (int k = 0; k < 16; k += 4)
            *reinterpret_cast<float4 *>(to + k * width) = turned[k + y][x ^ (k + y) % 8];
        __syncwarp();
    }
}

// tensor_wgmma: four warps multiply together, out of shared memory, and the hardware copies whole tiles.
// Idea: one request moves a whole tile. One thread asks the copy engine (TMA) for a box of a matrix, by its
//   coordinates; a barrier in shared memory counts the bytes that arrive. Then a warpgroup of four warps issues 64 x
//   256 x 16 products as one instruction that reads both operands from shared memory and does not wait for the result.
// Fixes (tensor_mma): operands that pass through the warps' registers, and the instructions that move them.
// Limit: every phase ends with a barrier of the block, after which one thread asks for the next copy.
// Conditions: the width is a multiple of 256; 256 threads a block; compute capability 9.0 only. T is the 16 bits of a
//   bfloat16; sums are float. M and N come as tensor maps for the copy engine: boxes of 64 x 128 and 64 x 64.
// Lecture: after CS121, with Hopper's units.
typedef unsigned long long u64;
constexpr int ROWS = 128, COLUMNS = 256;  // of P, for each block
constexpr int DEPTH = 64, STAGES = 4;  // of a phase; in flight or in use
constexpr int BAND = 16;  // rows of blocks that run side by side, so they share the L2
struct alignas(64) TensorMap { u64 words[16]; };  // describes a matrix to the copy engine; the host fills it in
struct Stage { T M[ROWS][DEPTH], N[COLUMNS / 64][DEPTH][64]; };
struct alignas(1024) Shared { Stage stages[STAGES]; u64 full[STAGES]; };

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

// the 128 sums of a thread, of 64 x 256 of a warpgroup, as operands. The first product overwrites them:
//   if other instructions set them to zero, the compiler would wait for each product before it starts the next
#define EIGHT(i) "+f"(d[i]), "+f"(d[i + 1]), "+f"(d[i + 2]), "+f"(d[i + 3]), "+f"(d[i + 4]), "+f"(d[i + 5]), \
                 "+f"(d[i + 6]), "+f"(d[i + 7])
#define ALL(i) EIGHT(i), EIGHT(i + 8), EIGHT(i + 16), EIGHT(i + 24), EIGHT(i + 32), EIGHT(i + 40), EIGHT(i + 48), \
               EIGHT(i + 56)
static __device__ void multiply(float (&d)[128], u64 m, u64 n, int add)
{
    asm volatile("{ .reg .pred p; setp.ne.s32 p, %130, 0; wgmma.mma_async.sync.aligned.m64n256k16.f32.bf16.bf16 "
                 "{%0, %1, %2, %3, %4, %5, %6, %7, %8, %9, %10, %11, %12, %13, %14, %15, %16, %17, %18, %19, %20, "
                 "%21, %22, %23, %24, %25, %26, %27, %28, %29, %30, %31, %32, %33, %34, %35, %36, %37, %38, %39, "
                 "%40, %41, %42, %43, %44, %45, %46, %47, %48, %49, %50, %51, %52, %53, %54, %55, %56, %57, %58, "
                 "%59, %60, %61, %62, %63, %64, %65, %66, %67, %68, %69, %70, %71, %72, %73, %74, %75, %76, %77, "
                 "%78, %79, %80, %81, %82, %83, %84, %85, %86, %87, %88, %89, %90, %91, %92, %93, %94, %95, %96, "
                 "%97, %98, %99, %100, %101, %102, %103, %104, %105, %106, %107, %108, %109, %110, %111, %112, %113, "
                 "%114, %115, %116, %117, %118, %119, %120, %121, %122, %123, %124, %125, %126, %127}, "
                 "%128, %129, p, 1, 1, 0, 1; }" : ALL(0), ALL(64) : "l"(m), "l"(n), "r"(add));
}

extern "C" __global__ void __launch_bounds__(256, 1)
tensor_wgmma(const __grid_constant__ TensorMap M, const __grid_constant__ TensorMap N, float *P, int width)
{
    extern __shared__ __align__(1024) unsigned char memory[];
    Shared &shared = *reinterpret_cast<Shared *>(memory);
    int group = threadIdx.x / 128, tid = threadIdx.x % 128;  // a warpgroup computes 64 rows of the block's piece
    int across = width / COLUMNS, band = blockIdx.x / (BAND * across), in_band = blockIdx.x % (BAND * across);
    int high = min(BAND, width / ROWS - band * BAND), phases = width / DEPTH;
    int row = (band * BAND + in_band % high) * ROWS, col = in_band / high * COLUMNS;
    if (threadIdx.x == 0)
        for (int s = 0; s < STAGES; ++s)
            asm volatile("mbarrier.init.shared::cta.b64 [%0], 1;" :: "r"(address(&shared.full[s])));
    asm volatile("fence.proxy.async.shared::cta;" ::: "memory");
    __syncthreads();
    auto fetch = [&](int phase) {
        Stage &to = shared.stages[phase % STAGES];
        u64 *full = &shared.full[phase % STAGES];
        asm volatile("mbarrier.arrive.expect_tx.shared::cta.b64 _, [%0], %1;"
                     :: "r"(address(full)), "n"(sizeof(Stage)) : "memory");
        copy(to.M, M, full, phase * DEPTH, row);
        for (int c = 0; c < COLUMNS / 64; ++c) copy(to.N[c], N, full, col + 64 * c, phase * DEPTH);
    };
    for (int phase = 0; threadIdx.x == 0 && phase < min(STAGES - 1, phases); ++phase) fetch(phase);

    float sum[128];
    for (int phase = 0; phase < phases; ++phase) {
        Stage &now = shared.stages[phase % STAGES];
        wait(&shared.full[phase % STAGES], phase / STAGES % 2);
        asm volatile("wgmma.fence.sync.aligned;" ::: "memory");
        u64 m = matrix(now.M[64 * group], 16), n = matrix(now.N, sizeof(now.N[0]));
        #pragma unroll
        for (int k = 0; k < DEPTH / 16; ++k) multiply(sum, m + 2 * k, n + 128 * k, phase + k);  // 32 bytes, 16 rows on
        asm volatile("wgmma.commit_group.sync.aligned; wgmma.wait_group.sync.aligned 1;" ::: "memory");
        __syncthreads();  // the products of the phase before are done, and its stage is free
        if (threadIdx.x == 0 && phase + STAGES - 1 < phases) fetch(phase + STAGES - 1);
    }
    asm volatile("wgmma.wait_group.sync.aligned 0;" ::: "memory");
    int r = row + 64 * group + tid / 32 * 16 + tid % 32 / 4, c = col + tid % 4 * 2;
    for (int j = 0; j < 64; ++j) {  // two neighbours of row r, then of row r + 8
        float2 two = {sum[2 * j], sum[2 * j + 1]};
        *reinterpret_cast<float2 *>(&P[(r + j % 2 * 8) * width + c + j / 2 * 8]) = two;
    }
}

// tensor_specialized: warp specialisation: one warp only fetches, and two warpgroups only multiply.
// Idea: divide the work by kind. The fetching thread waits until a stage is empty and starts its copies; a warpgroup
//   waits until the stage is full, multiplies, and marks it as empty, while the products of the next stage already run.
//   No warp waits for the whole block. The registers go to the warps that hold sums (setmaxnreg).
// Fixes (tensor_wgmma): the barrier of the block in every phase, at which the tensor cores idled.
// Limit: the tensor cores, and then the power: at width 8192 the clock drops from 1,980 to about 1,550 MHz.
// Conditions: the width is a multiple of 256; 256 threads multiply, and one of 128 more fetches; compute capability 9.0
//   only. T is the 16 bits of a bfloat16; sums are float. M and N come as tensor maps for the copy engine: boxes of 64
//   x 128 and 64 x 64.
// Lecture: after CS121, with Hopper's units.
typedef unsigned long long u64;
constexpr int ROWS = 128, COLUMNS = 256;  // of P, for each block
constexpr int DEPTH = 64, STAGES = 4;  // of a phase; in flight or in use
constexpr int BAND = 16;  // rows of blocks that run side by side, so they share the L2
struct alignas(64) TensorMap { u64 words[16]; };  // describes a matrix to the copy engine; the host fills it in
struct Stage { T M[ROWS][DEPTH], N[COLUMNS / 64][DEPTH][64]; };
struct alignas(1024) Shared { Stage stages[STAGES]; u64 full[STAGES], empty[STAGES]; };

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

extern "C" __global__ void __launch_bounds__(384, 1)
tensor_specialized(const __grid_constant__ TensorMap M, const __grid_constant__ TensorMap N, float *P, int width)
{
    extern __shared__ __align__(1024) unsigned char memory[];
    Shared &shared = *reinterpret_cast<Shared *>(memory);
    int group = threadIdx.x / 128, tid = threadIdx.x % 128;  // warpgroups 0 and 1 compute 64 rows each, 2 fetches
    int across = width / COLUMNS, band = blockIdx.x / (BAND * across), in_band = blockIdx.x % (BAND * across);
    int high = min(BAND, width / ROWS - band * BAND), phases = width / DEPTH;
    int row = (band * BAND + in_band % high) * ROWS, col = in_band / high * COLUMNS;
    for (int s = 0; threadIdx.x == 0 && s < STAGES; ++s)
        asm volatile("mbarrier.init.shared::cta.b64 [%0], 1; mbarrier.init.shared::cta.b64 [%1], 2;"
                     :: "r"(address(&shared.full[s])), "r"(address(&shared.empty[s])));
    asm volatile("fence.proxy.async.shared::cta;" ::: "memory");
    __syncthreads();
    if (group == 2) {
        asm volatile("setmaxnreg.dec.sync.aligned.u32 40;");
        for (int phase = 0; tid == 0 && phase < phases; ++phase) {
            int s = phase % STAGES;
            wait(&shared.empty[s], (phase / STAGES + 1) % 2);
            asm volatile("mbarrier.arrive.expect_tx.shared::cta.b64 _, [%0], %1;"
                         :: "r"(address(&shared.full[s])), "n"(sizeof(Stage)) : "memory");
            copy(shared.stages[s].M, M, &shared.full[s], phase * DEPTH, row);
            for (int c = 0; c < COLUMNS / 64; ++c)
                copy(shared.stages[s].N[c], N, &shared.full[s], col + 64 * c, phase * DEPTH);
        }
    } else {
        asm volatile("setmaxnreg.inc.sync.aligned.u32 232;");
        float sum[128];
        for (int phase = 0; phase < phases; ++phase) {
            Stage &now = shared.stages[phase % STAGES];
            wait(&shared.full[phase % STAGES], phase / STAGES % 2);
            asm volatile("wgmma.fence.sync.aligned;" ::: "memory");
            u64 m = matrix(now.M[64 * group], 16), n = matrix(now.N, sizeof(now.N[0]));
            #pragma unroll
            for (int k = 0; k < DEPTH / 16; ++k) multiply(sum, m + 2 * k, n + 128 * k, phase + k);  // 32 bytes, 16 rows
            asm volatile("wgmma.commit_group.sync.aligned; wgmma.wait_group.sync.aligned 1;" ::: "memory");
            if (tid == 0 && phase > 0)  // the products of the phase before are done
                asm volatile("mbarrier.arrive.shared::cta.b64 _, [%0];"
                             :: "r"(address(&shared.empty[(phase - 1) % STAGES])) : "memory");
        }
        asm volatile("wgmma.wait_group.sync.aligned 0;" ::: "memory");
        int r = row + 64 * group + tid / 32 * 16 + tid % 32 / 4, c = col + tid % 4 * 2;
        for (int j = 0; j < 64; ++j) {  // two neighbours of row r, then of row r + 8
            float2 two = {sum[2 * j], sum[2 * j + 1]};
            *reinterpret_cast<float2 *>(&P[(r + j % 2 * 8) * width + c + j / 2 * 8]) = two;
        }
    }
}

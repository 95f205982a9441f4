// matmul_split: each float becomes three bfloat16 that add up to it, and the tensor cores multiply the parts.
// Idea: three 8-bit significands cover a float's 24 bits. Of the nine products of parts, six matter to a float's last
//   bit; they form one long sum, small ones first. Parts lie below each other: the copy engine finds each by its row.
// Fixes (matmul_fitted_pieces): the float units' peak. Tensor cores multiply 16-bit numbers over ten times as fast.
// Limit: tensor cores truncate sums that float units round: the error is up to three times that of cuBLAS (width 8192).
// Conditions: the width is a multiple of 256; 256 threads multiply, and one of 128 more fetches; compute capability 9.0
//   only. M and N come as tensor maps of their parts: boxes of 64 x 128 and 64 x 64.
// Lecture: after CS121, with Hopper's units; a number can be a sum too.
typedef unsigned long long u64; typedef unsigned short bfloat16;  // its bits
constexpr int ROWS = 128, COLUMNS = 256, DEPTH = 64, STAGES = 4;  // of P, for each block; of a phase; in the ring
struct alignas(64) TensorMap { u64 words[16]; };  // describes a matrix to the copy engine; the host fills it in
struct Stage { bfloat16 M[ROWS][DEPTH], N[COLUMNS / 64][DEPTH][64]; };
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
    asm volatile("cp.async.bulk.tensor.2d.shared::cluster.global.mbarrier::complete_tx::bytes "
                 "[%0], [%1, {%3, %4}], [%2];"
                 :: "r"(address(to)), "l"(&map), "r"(address(barrier)), "r"(x), "r"(y) : "memory");
}

// describes a matrix in shared memory to the tensor cores: groups of 8 rows of 128 bytes, swizzled by the copy
static __device__ u64 matrix(const void *shared, int next_columns)
{
    return u64(address(shared) >> 4) | u64(next_columns >> 4) << 16 | u64(1024 >> 4) << 32 | 1ull << 62;
}

// the 128 sums of a thread, of 64 x 256 of a warpgroup, as operands
#define FOUR(i) "+f"(d[i]), "+f"(d[i + 1]), "+f"(d[i + 2]), "+f"(d[i + 3])
#define SIXTEEN(i) FOUR(i), FOUR(i + 4), FOUR(i + 8), FOUR(i + 12)
#define ALL(i) SIXTEEN(i), SIXTEEN(i + 16), SIXTEEN(i + 32), SIXTEEN(i + 48)
static __device__ void multiply(float (&d)[128], u64 m, u64 n)
{
    asm volatile("wgmma.mma_async.sync.aligned.m64n256k16.f32.bf16.bf16 "
                 "{%0, %1, %2, %3, %4, %5, %6, %7, %8, %9, %10, %11, %12, %13, %14, %15, %16, %17, %18, %19, %20, "
                 "%21, %22, %23, %24, %25, %26, %27, %28, %29, %30, %31, %32, %33, %34, %35, %36, %37, %38, %39, "
                 "%40, %41, %42, %43, %44, %45, %46, %47, %48, %49, %50, %51, %52, %53, %54, %55, %56, %57, %58, "
                 "%59, %60, %61, %62, %63, %64, %65, %66, %67, %68, %69, %70, %71, %72, %73, %74, %75, %76, %77, "
                 "%78, %79, %80, %81, %82, %83, %84, %85, %86, %87, %88, %89, %90, %91, %92, %93, %94, %95, %96, "
                 "%97, %98, %99, %100, %101, %102, %103, %104, %105, %106, %107, %108, %109, %110, %111, %112, %113, "
                 "%114, %115, %116, %117, %118, %119, %120, %121, %122, %123, %124, %125, %126, %127}, "
                 "%128, %129, 1, 1, 1, 0, 1;" : ALL(0), ALL(64) : "l"(m), "l"(n));
}

extern "C" __global__ void __launch_bounds__(384, 1)
matmul_split(const __grid_constant__ TensorMap M, const __grid_constant__ TensorMap N, float *P, int width)
{
    extern __shared__ __align__(1024) unsigned char memory[];
    Shared &shared = *reinterpret_cast<Shared *>(memory);
    int group = threadIdx.x / 128, tid = threadIdx.x % 128;  // warpgroups 0 and 1 compute 64 rows each, 2 fetches
    int down = width / ROWS, pieces = width / COLUMNS * down, each = width / DEPTH, phases = PRODUCTS * each, at = 0;
    for (int s = 0; threadIdx.x == 0 && s < STAGES; ++s)
        asm volatile("mbarrier.init.shared::cta.b64 [%0], 1; mbarrier.init.shared::cta.b64 [%1], 2;"
                     :: "r"(address(&shared.full[s])), "r"(address(&shared.empty[s])));
    asm volatile("fence.proxy.async.shared::cta;" ::: "memory");
    __syncthreads();
    if (group == 2) {
        asm volatile("setmaxnreg.dec.sync.aligned.u32 40;");
        for (int piece = blockIdx.x; tid == 0 && piece < pieces; piece += gridDim.x)
            for (int phase = 0; phase < phases; ++phase, ++at) {
                int s = at % STAGES, product = PRODUCTS - 1 - phase / each, k = phase % each * DEPTH;
                // a digit is the part of M or N in a product, the largest last: 0 0, 1 0, 0 1, 1 1, 2 0, 0 2, ...
                int m = 0x212021010 >> 4 * product & 15, n = 0x221201100 >> 4 * product & 15;
                wait(&shared.empty[s], (at / STAGES + 1) % 2);
                asm volatile("mbarrier.arrive.expect_tx.shared::cta.b64 _, [%0], %1;"
                             :: "r"(address(&shared.full[s])), "n"(sizeof(Stage)) : "memory");
                copy(shared.stages[s].M, M, &shared.full[s], k, m * width + piece % down * ROWS);
                for (int c = 0; c < COLUMNS / 64; ++c)
                    copy(shared.stages[s].N[c], N, &shared.full[s], piece / down * COLUMNS + 64 * c, n * width + k);
            }
        return;
    }
    asm volatile("setmaxnreg.inc.sync.aligned.u32 232;");
    auto release = [&](int before) {  // the products of that phase are done
        if (tid == 0)
            asm volatile("mbarrier.arrive.shared::cta.b64 _, [%0];"
                         :: "r"(address(&shared.empty[before % STAGES])) : "memory");
    };
    for (int piece = blockIdx.x; piece < pieces; piece += gridDim.x) {
        float sum[128] = {};
        for (int phase = 0; phase < phases; ++phase, ++at) {
            Stage &now = shared.stages[at % STAGES];
            wait(&shared.full[at % STAGES], at / STAGES % 2);
            asm volatile("wgmma.fence.sync.aligned;" ::: "memory");
            u64 m = matrix(now.M[64 * group], 16), n = matrix(now.N, sizeof(now.N[0]));
            #pragma unroll
            for (int k = 0; k < DEPTH / 16; ++k) multiply(sum, m + 2 * k, n + 128 * k);  // 32 bytes, 16 rows further
            asm volatile("wgmma.commit_group.sync.aligned; wgmma.wait_group.sync.aligned 1;" ::: "memory");
            if (phase > 0) release(at - 1);
        }
        asm volatile("wgmma.wait_group.sync.aligned 0;" ::: "memory");
        release(at - 1);
        int r = piece % down * ROWS + 64 * group + tid / 32 * 16 + tid % 32 / 4;
        int c = piece / down * COLUMNS + tid % 4 * 2;
        for (int j = 0; j < 64; ++j)  // two neighbours of row r, then of row r + 8
            *reinterpret_cast<float2 *>(&P[(r + j % 2 * 8) * width + c + j / 2 * 8]) = {sum[2 * j], sum[2 * j + 1]};
    }
}

// the three parts of two numbers, rounded to nearest: all first parts, then all second ones, then all third ones
extern "C" __global__ void split(const float2 *from, ushort2 *parts)
{
    int i = blockIdx.x * blockDim.x + threadIdx.x, all = gridDim.x * blockDim.x;
    float2 rest = from[i];
    auto take = [](float &rest) {
        unsigned int bits = __float_as_uint(rest), rounded = (bits + 0x7fff + (bits >> 16 & 1)) & 0xffff0000;
        rest -= __uint_as_float(rounded);  // exactly
        return bfloat16(rounded >> 16);
    };
    for (int part = 0; part < 3; ++part) parts[part * all + i] = {take(rest.x), take(rest.y)};
}

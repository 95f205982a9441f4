// tensor_whole_lines: a block stores its sums by whole lines of 128 bytes.
// Idea: wgmma leaves two neighbouring sums in each lane, so a warp stored 32 bytes of eight rows at once. Now it
//   regroups its 16 rows in shared memory, 32 columns at a time, swizzled, and stores 128 bytes of four rows at once.
// Fixes (tensor_persistent): scattered stores, during which a warp does not multiply: 5 of 32 us at width 2048.
// Limit: the tensor cores and, at large widths, the power, as before. Of the 5 us this saves less than 2.
// Conditions: those of tensor_persistent, and 16 KB more shared memory.
// Lecture: after CS121, with Hopper's units.
typedef unsigned long long u64;
constexpr int ROWS = 128, COLUMNS = 256, DEPTH = 64, STAGES = 4;  // of P for each block; of a phase; in flight
constexpr int BAND = 16;  // rows of blocks that run side by side, so they share the L2
struct alignas(64) TensorMap { u64 words[16]; };  // describes a matrix to the copy engine; the host fills it in
struct Stage { T M[ROWS][DEPTH], N[COLUMNS / 64][DEPTH][64]; };
struct alignas(1024) Shared { Stage stages[STAGES]; float4 turned[8][16][8]; u64 full[STAGES], empty[STAGES]; };

static __device__ unsigned int address(const void *shared) { return (unsigned int)__cvta_generic_to_shared(shared); }
static __device__ void wait(u64 *barrier, int parity)
{
    asm volatile("{ .reg .pred done; again: mbarrier.try_wait.parity.shared::cta.b64 done, [%0], %1; "
                 "@!done bra again; }" :: "r"(address(barrier)), "r"(parity) : "memory");
}

// start to copy a box of 64 columns from column x and row y on; the barrier counts its bytes
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

// the 128 sums of a thread, of 64 x 256 of a warpgroup, as operands; and ten of their numbers
#define FOUR(i) "+f"(d[i]), "+f"(d[i + 1]), "+f"(d[i + 2]), "+f"(d[i + 3])
#define MANY(i) FOUR(i), FOUR(i + 4), FOUR(i + 8), FOUR(i + 12), FOUR(i + 16), FOUR(i + 20), FOUR(i + 24), FOUR(i + 28)
#define TEN(a) "%" #a "0, %" #a "1, %" #a "2, %" #a "3, %" #a "4, %" #a "5, %" #a "6, %" #a "7, %" #a "8, %" #a "9, "
static __device__ void multiply(float (&d)[128], u64 m, u64 n)
{
    asm volatile("wgmma.mma_async.sync.aligned.m64n256k16.f32.bf16.bf16 {"
                 TEN() TEN(1) TEN(2) TEN(3) TEN(4) TEN(5) TEN(6) TEN(7) TEN(8) TEN(9) TEN(10) TEN(11)
                 "%120, %121, %122, %123, %124, %125, %126, %127}, %128, %129, 1, 1, 1, 0, 1;"
                 : MANY(0), MANY(32), MANY(64), MANY(96) : "l"(m), "l"(n));
}

extern "C" __global__ void __launch_bounds__(384, 1)
tensor_whole_lines(const __grid_constant__ TensorMap M, const __grid_constant__ TensorMap N, float *P, int width)
{
    extern __shared__ __align__(1024) unsigned char memory[];
    Shared &shared = *reinterpret_cast<Shared *>(memory);
    int group = threadIdx.x / 128, tid = threadIdx.x % 128;  // warpgroups 0 and 1 compute 64 rows each, 2 fetches
    int across = width / COLUMNS, down = width / ROWS, pieces = across * down, phases = width / DEPTH;
    auto place = [=](int piece, int &row, int &col) {
        int band = piece / (BAND * across), in_band = piece % (BAND * across), high = min(BAND, down - band * BAND);
        row = (band * BAND + in_band % high) * ROWS, col = in_band / high * COLUMNS;
    };
    for (int s = 0; threadIdx.x == 0 && s < STAGES; ++s)
        asm volatile("mbarrier.init.shared::cta.b64 [%0], 1; mbarrier.init.shared::cta.b64 [%1], 2;"
                     :: "r"(address(&shared.full[s])), "r"(address(&shared.empty[s])));
    asm volatile("fence.proxy.async.shared::cta;" ::: "memory");
    __syncthreads();
    int row, col, at = 0;  // at: phases so far, of all pieces
    if (group == 2) {
        asm volatile("setmaxnreg.dec.sync.aligned.u32 40;");
        for (int piece = blockIdx.x; tid == 0 && piece < pieces; piece += gridDim.x) {
            place(piece, row, col);
            for (int phase = 0; phase < phases; ++phase, ++at) {
                int s = at % STAGES;
                wait(&shared.empty[s], (at / STAGES + 1) % 2);
                asm volatile("mbarrier.arrive.expect_tx.shared::cta.b64 _, [%0], %1;"
                             :: "r"(address(&shared.full[s])), "n"(sizeof(Stage)) : "memory");
                copy(shared.stages[s].M, M, &shared.full[s], phase * DEPTH, row);
                for (int c = 0; c < COLUMNS / 64; ++c)
                    copy(shared.stages[s].N[c], N, &shared.full[s], col + 64 * c, phase * DEPTH);
            }
        }
        return;
    }
    asm volatile("setmaxnreg.inc.sync.aligned.u32 232;");
    auto release = [&](int before) {  // the products of that phase are done
        if (tid == 0) asm volatile("mbarrier.arrive.shared::cta.b64 _, [%0];"
                                   :: "r"(address(&shared.empty[before % STAGES])) : "memory");
    };
    for (int piece = blockIdx.x; piece < pieces; piece += gridDim.x) {
        place(piece, row, col);
        float sum[128];
        for (int i = 0; i < 128; ++i) sum[i] = 0;
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
        // 16 rows of a warp, 32 columns at a time: in its lanes' order to shared memory, and row by row from there
        int warp = threadIdx.x / 32, lane = tid % 32, y = lane / 8, x = lane % 8;
        float4 (*turned)[8] = shared.turned[warp];
        #pragma unroll
        for (int part = 0; part < 8; ++part) {
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
}

// prefix_sum_specialized: one warp only looks back, while the others load and add up the next tile.
// Idea: a block takes tile after tile. A tile's sums wait in shared memory until the look-back warp knows the sum below
//   them. Meanwhile the other warps load the next tile into their free registers and publish its sum at once, as many
//   blocks above may be waiting for it. Then they complete the tile before, and write it.
// Fixes (prefix_sum_lookback): blocks that loaded nothing while they waited: a seventh of the time at 2^24, three
//   tenths for 8-byte numbers.
// Limit: memory bandwidth at large n; at small n, the launch and the latency of the look-back.
// Conditions: those of prefix_sum_lookback, but a block size of 64 to 256; any grid size. Published sums are added as
//   they arrive: floats may differ in their last bits from run to run.
// Lecture: none: tile states as in Merrill and Garland 2016, warp specialisation as in CUTLASS.
constexpr unsigned int ROUNDS = 8, LOADERS = BLOCK_SIZE - 32;  // of 16 bytes, for each thread that loads
constexpr unsigned int PER_VECTOR = 16 / sizeof(T), TILE = LOADERS * ROUNDS * PER_VECTOR, WORDS = sizeof(T) / 4;
union Vector { int4 whole; T element[PER_VECTOR]; };
union Words { T value; unsigned int word[WORDS]; };
constexpr unsigned long long OWN = 1ull << 32, ALL = 2ull << 32;  // kinds of states: of one tile, of all so far

// tells the compiler that a value is the same in all lanes; and a barrier for the threads that load
static __device__ unsigned int uniform(unsigned int value) { return __shfl_sync(0xffffffff, value, 0); }
static __device__ void loaders_meet() { asm volatile("bar.sync 1, %0;" ::"n"(LOADERS) : "memory"); }

// the sum of the values of this lane and the lanes below
static __device__ T warp_scan(T sum)
{
    unsigned int lane = threadIdx.x % 32;
    for (unsigned int offset = 1; offset < 32; offset <<= 1) {
        T below = __shfl_up_sync(0xffffffff, sum, offset);
        if (lane >= offset) sum += below;
    }
    return sum;
}

static __device__ void say(volatile unsigned long long *state, unsigned long long kind, T sum)
{
    Words words{sum};
    for (unsigned int k = 0; k < WORDS; ++k) state[k] = kind | words.word[k];
}

// one warp: look back, publish the sum so far; returns the sum below this tile
static __device__ T look_back(volatile unsigned long long *states, unsigned int tile, T total)
{
    unsigned int lane = threadIdx.x % 32, complete = 0;
    T below = T(0);
    for (int other = int(tile) - 1 - int(lane); complete == 0; other -= 32) {
        unsigned long long first = ALL, last = ALL;  // before the first tile: nothing
        if (other >= 0) do {
            last = first = states[other * WORDS];
            if (WORDS > 1) last = states[other * WORDS + 1];
        } while (first < OWN || first >> 32 != last >> 32);
        Words sum;
        sum.word[0] = (unsigned int)first;
        sum.word[WORDS - 1] = (unsigned int)last;
        complete = __ballot_sync(0xffffffff, first >= ALL);
        if (complete != 0 && lane >= __ffs(complete)) sum.value = T(0);
        for (unsigned int offset = 16; offset > 0; offset >>= 1)
            sum.value += __shfl_xor_sync(0xffffffff, sum.value, offset);
        below += sum.value;
    }
    if (lane == 0) say(states + tile * WORDS, ALL, below + total);
    return below;
}

extern "C" __global__ void __launch_bounds__(BLOCK_SIZE, 1024 / BLOCK_SIZE)
prefix_sum_specialized(const T *in, T *out, unsigned int n, unsigned long long *states)
{
    __shared__ Vector waiting[ROUNDS][LOADERS];  // each thread has its own
    __shared__ T totals[2][32];                  // double-buffered: one sum per warp, then the sum below it
    __shared__ unsigned int drawn[2];
    unsigned int tid = threadIdx.x, lane = tid % 32, warp = uniform(tid / 32), *ticket = (unsigned int *)states;
    unsigned int place = (warp * 32 * ROUNDS + lane) * PER_VECTOR, before = n, next = 0;
    bool loads = warp < LOADERS / 32;
    if (tid == 0) drawn[0] = atomicAdd(ticket, 1);
    __syncthreads();
    for (unsigned int turn = 0, tile = uniform(drawn[0]);; turn ^= 1) {
        Vector items[ROUNDS];
        if (loads && tile * TILE < n) {
            for (unsigned int k = 0; k < ROUNDS; ++k) {
                unsigned int i = tile * TILE + place + k * 32 * PER_VECTOR;
                if (i + PER_VECTOR <= n) items[k].whole = __ldcs(reinterpret_cast<const int4 *>(in + i));
                else for (unsigned int j = 0; j < PER_VECTOR; ++j) items[k].element[j] = (i + j < n) ? in[i + j] : T(0);
            }
            T sum = T(0);  // of this warp's elements so far
            for (unsigned int k = 0; k < ROUNDS; ++k) {
                for (unsigned int j = 1; j < PER_VECTOR; ++j) items[k].element[j] += items[k].element[j - 1];
                T scan = warp_scan(items[k].element[PER_VECTOR - 1]), below = __shfl_up_sync(0xffffffff, scan, 1);
                below = sum + (lane > 0 ? below : T(0));
                for (unsigned int j = 0; j < PER_VECTOR; ++j) items[k].element[j] += below;
                sum += __shfl_sync(0xffffffff, scan, 31);
            }
            if (lane == 0) totals[turn][warp] = sum;
            loaders_meet();
            sum = warp_scan((lane < LOADERS / 32) ? totals[turn][lane] : T(0));
            if (tid == 31) say(states + 1 + tile * WORDS, OWN, sum);
        }
        __syncthreads();
        tile = uniform(drawn[turn]);
        if (!loads) {
            if (tile * TILE >= n) return;
            T scan = warp_scan((lane < LOADERS / 32) ? totals[turn][lane] : T(0));
            T others = look_back(states + 1, tile, __shfl_sync(0xffffffff, scan, 31));
            T below = __shfl_up_sync(0xffffffff, scan, 1);
            totals[turn][lane] = others + (lane > 0 ? below : T(0));
            continue;
        }
        if (tid == 0) next = atomicAdd(ticket, 1);  // drawn early, to hide its latency
        if (before < n) for (unsigned int k = 0; k < ROUNDS; ++k) {
            unsigned int i = before + place + k * 32 * PER_VECTOR;
            Vector sums = waiting[k][tid];
            for (unsigned int j = 0; j < PER_VECTOR; ++j) sums.element[j] += totals[turn ^ 1][warp];
            if (i + PER_VECTOR <= n) __stcs(reinterpret_cast<int4 *>(out + i), sums.whole);
            else for (unsigned int j = 0; j < PER_VECTOR; ++j) if (i + j < n) out[i + j] = sums.element[j];
        }
        for (unsigned int k = 0; k < ROUNDS; ++k) waiting[k][tid] = items[k];
        if (tile * TILE >= n) return;
        if (tid == 0) drawn[turn ^ 1] = next;
        loaders_meet();
        before = tile * TILE, tile = uniform(drawn[turn ^ 1]);
    }
}

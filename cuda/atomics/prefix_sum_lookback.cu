// prefix_sum_lookback: the sum of an element and all elements below it, in one pass over memory.
// Idea: decoupled look-back. A block publishes the sum of its own numbers as soon as it has it, and later the sum of
//   everything up to its end. For the sum below it, one of its warps reads the states of 32 blocks below, then of 32
//   more, until one has published its second sum. A state is a word of 8 bytes with 4 bytes of a sum and its kind,
//   which arrive together. A sum of 8 bytes takes two states, and is complete when both have the same kind.
// Fixes (grid_prefix_sum): two passes through memory: now every number is read once and written once, in one launch.
// Limit: a block loads nothing while it looks back. At small n, the launch and the latency of the look-back.
// Conditions: any n; in and out start at a multiple of 16 bytes; the block size is a multiple of 32. The states (a
//   ticket, then one per block) are zero before. Inclusive. The published sums are added block by block, from below:
//   floats have the same bits in every run.
// Lecture: none: Merrill and Garland 2016, "Single-pass Parallel Prefix Scan with Decoupled Look-back".
constexpr unsigned int ROUNDS = 8, FAR = 256;  // of 16 bytes, for each thread; how many sums of blocks below are kept
constexpr unsigned int PER_VECTOR = 16 / sizeof(T), TILE = BLOCK_SIZE * ROUNDS * PER_VECTOR, WORDS = sizeof(T) / 4;
union Vector { int4 whole; T element[PER_VECTOR]; };
union Words { T value; unsigned int word[WORDS]; };
constexpr unsigned long long OWN = 1ull << 32, ALL = 2ull << 32;  // kinds of states: of one tile, of all so far

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

// one warp: publish the sum of this tile, look back, publish the sum so far; returns the sum below this tile
static __device__ T look_back(volatile unsigned long long *states, unsigned int tile, T total)
{
    __shared__ T heard[FAR];  // the sums of the tile below, of the one below that, ...
    unsigned int lane = threadIdx.x % 32, count = 0, complete = 0;
    if (lane == 0 && tile > 0) say(states + tile * WORDS, OWN, total);
    while (complete == 0) {
        int other = int(tile) - 1 - int(count + lane);
        unsigned long long first = ALL, last = ALL;  // before the first tile: nothing
        if (other >= 0) do {
            last = first = states[other * WORDS];
            if (WORDS > 1) last = states[other * WORDS + 1];
        } while (first < OWN || first >> 32 != last >> 32);
        Words sum;
        sum.word[0] = (unsigned int)first;
        sum.word[WORDS - 1] = (unsigned int)last;
        heard[count + lane] = sum.value;
        complete = __ballot_sync(0xffffffff, first >= ALL);
        if (complete == 0 && count < FAR - 32) count += 32;
    }
    __syncwarp();
    count += __ffs(complete);
    T below = heard[--count];
    while (count > 0) below += heard[--count];
    if (lane == 0) say(states + tile * WORDS, ALL, below + total);
    return below;
}

extern "C" __global__ void __launch_bounds__(BLOCK_SIZE, 1024 / BLOCK_SIZE)
prefix_sum_lookback(const T *in, T *out, unsigned int n, unsigned long long *states)
{
    __shared__ T totals[32];  // one sum per warp, then the sum below it
    __shared__ unsigned int drawn;
    unsigned int tid = threadIdx.x, lane = tid % 32, warp = tid / 32;

    // tiles in the order in which blocks start: the blocks below have started, so the wait for them ends
    if (tid == 0) drawn = atomicAdd(reinterpret_cast<unsigned int *>(states), 1);
    __syncthreads();
    unsigned int tile = drawn, first = tile * TILE + (warp * 32 * ROUNDS + lane) * PER_VECTOR;

    // all loads are in flight before the first one is used; zeros past the end
    Vector items[ROUNDS];
    for (unsigned int k = 0; k < ROUNDS; ++k) {
        unsigned int i = first + k * 32 * PER_VECTOR;
        if (i + PER_VECTOR <= n) items[k].whole = __ldcs(reinterpret_cast<const int4 *>(in + i));  // read only once
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
    if (lane == 0) totals[warp] = sum;
    __syncthreads();

    // just warp 0: scan the sums of the warps and look back
    if (warp == 0) {
        T scan = warp_scan((lane < BLOCK_SIZE / 32) ? totals[lane] : T(0));
        T others = look_back(states + 1, tile, __shfl_sync(0xffffffff, scan, 31));
        T before = __shfl_up_sync(0xffffffff, scan, 1);
        totals[lane] = others + (lane > 0 ? before : T(0));
    }
    __syncthreads();

    for (unsigned int k = 0; k < ROUNDS; ++k) {
        unsigned int i = first + k * 32 * PER_VECTOR;
        for (unsigned int j = 0; j < PER_VECTOR; ++j) items[k].element[j] += totals[warp];
        if (i + PER_VECTOR <= n) __stcs(reinterpret_cast<int4 *>(out + i), items[k].whole);
        else for (unsigned int j = 0; j < PER_VECTOR; ++j) if (i + j < n) out[i + j] = items[k].element[j];
    }
}

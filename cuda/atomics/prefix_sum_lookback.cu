// prefix_sum_lookback: the sum of an element and all elements below it, in one pass over memory.
// Idea: decoupled look-back. A block says what its own numbers sum up to as soon as it knows, and later what everything
//   up to its end sums up to. To know what lies below it, one of its warps reads what 32 blocks below have said, and 32
//   more, until one of them has said the second. A word holds the sum and what kind it is: both arrive at once.
// Fixes: memory traffic: every number is read once and written once, and there is one launch.
// Limit: the memory itself at large n. At small n the launch and the trips of the look-back.
// Conditions: any n; elements of 4 bytes; in and out start at a multiple of 16 bytes; the block size is a multiple of
//   32. The states, a ticket and then one for each block, are zero before. Inclusive.
// Lecture: none: Merrill and Garland 2016, "Single-pass Parallel Prefix Scan with Decoupled Look-back".
#define ROUNDS 8  // of 4 neighbouring elements, for each thread
#define TILE (BLOCK_SIZE * ROUNDS * 4)
union Four { int4 vector; T element[4]; };
union Word { T value; unsigned int bits; };
constexpr unsigned long long OWN = 1ull << 32, ALL = 2ull << 32;  // what a state tells

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

// one warp: say what this tile sums up to, ask the tiles below, say what everything so far sums up to; the sum below
static __device__ T look_back(volatile unsigned long long *states, unsigned int tile, T total)
{
    unsigned int lane = threadIdx.x % 32;
    Word word{total};
    if (lane == 0 && tile > 0) states[tile] = OWN | word.bits;
    T below = T(0);
    for (int last = int(tile) - 1; last >= 0; last -= 32) {
        unsigned long long state = ALL;  // before the first tile: nothing
        if (last >= int(lane))
            do state = states[last - lane]; while (state < OWN);
        unsigned int complete = __ballot_sync(0xffffffff, state >= ALL);
        word.bits = (unsigned int)state;
        T sum = (complete == 0 || lane < __ffs(complete)) ? word.value : T(0);
        for (unsigned int offset = 16; offset > 0; offset >>= 1) sum += __shfl_xor_sync(0xffffffff, sum, offset);
        below += sum;
        if (complete != 0) break;
    }
    word.value = below + total;
    if (lane == 0) states[tile] = ALL | word.bits;
    return below;
}

extern "C" __global__ void __launch_bounds__(BLOCK_SIZE)
prefix_sum_lookback(const T *in, T *out, unsigned int n, unsigned long long *states)
{
    __shared__ T totals[32];  // one sum per warp, then the sum below it
    __shared__ unsigned int drawn;
    unsigned int tid = threadIdx.x, lane = tid % 32, warp = tid / 32;

    // tiles in the order in which blocks begin: the blocks below have begun, so that waiting for them ends
    if (tid == 0) drawn = atomicAdd(reinterpret_cast<unsigned int *>(states), 1);
    __syncthreads();
    unsigned int tile = drawn, first = tile * TILE + warp * (128 * ROUNDS) + lane * 4;

    // all loads are under way before the first one is used; zeros beyond the border
    Four items[ROUNDS];
    for (unsigned int k = 0; k < ROUNDS; ++k) {
        unsigned int i = first + 128 * k;
        if (i + 3 < n) items[k].vector = __ldcs(reinterpret_cast<const int4 *>(in + i));  // used once: kept in no cache
        else for (unsigned int j = 0; j < 4; ++j) items[k].element[j] = (i + j < n) ? in[i + j] : T(0);
    }
    T below[ROUNDS], sum = T(0);  // the sum of this warp's elements below those four
    for (unsigned int k = 0; k < ROUNDS; ++k) {
        for (unsigned int j = 1; j < 4; ++j) items[k].element[j] += items[k].element[j - 1];
        T scan = warp_scan(items[k].element[3]);
        below[k] = __shfl_up_sync(0xffffffff, scan, 1);
        below[k] = sum + (lane > 0 ? below[k] : T(0));
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
        unsigned int i = first + 128 * k;
        for (unsigned int j = 0; j < 4; ++j) items[k].element[j] += totals[warp] + below[k];
        if (i + 3 < n) __stcs(reinterpret_cast<int4 *>(out + i), items[k].vector);
        else for (unsigned int j = 0; j < 4; ++j) if (i + j < n) out[i + j] = items[k].element[j];
    }
}

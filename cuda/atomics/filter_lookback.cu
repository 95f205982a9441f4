// filter_lookback: keep the positive numbers, packed and in their order, in one pass over memory.
// Idea: a prefix sum of ones and zeros gives every kept number its place. Blocks learn by decoupled look-back how many
//   numbers were kept below them; each packs its own in shared memory and writes them to neighbouring addresses.
// Fixes (filter_aggregated): one atomic per warp, all on one counter, and an order that is not fixed: now it is the
//   order of the input.
// Limit: memory bandwidth at large n; at small n, the launch and the latency of the look-back.
// Conditions: any n; in starts at a multiple of 16 bytes; the block size is 32 to 256. The states (a ticket, then one
//   per block) are zero before.
// Lecture: none: Merrill and Garland 2016, "Single-pass Parallel Prefix Scan with Decoupled Look-back".
#define ROUNDS (32 / sizeof(T))  // of 4 neighbouring elements, for each thread; their counts share 8 bytes, a byte each
#define TILE (BLOCK_SIZE * ROUNDS * 4)
struct alignas(16) Four { T element[4]; };
constexpr unsigned long long OWN = 1ull << 32, ALL = 2ull << 32;  // kinds of states: of one tile, of all so far

// the sum of the values of this lane and the lanes below
template <typename Count> static __device__ Count warp_scan(Count sum)
{
    unsigned int lane = threadIdx.x % 32;
    for (unsigned int offset = 1; offset < 32; offset <<= 1) {
        Count below = __shfl_up_sync(0xffffffff, sum, offset);
        if (lane >= offset) sum += below;
    }
    return sum;
}

// one warp: publish the sum of this tile, look back, publish the sum so far; returns the sum below this tile
static __device__ unsigned int look_back(volatile unsigned long long *states, unsigned int tile, unsigned int total)
{
    unsigned int lane = threadIdx.x % 32, below = 0;
    if (lane == 0 && tile > 0) states[tile] = OWN | total;
    for (int last = int(tile) - 1; last >= 0; last -= 32) {
        unsigned long long state = ALL;  // before the first tile: nothing
        if (last >= int(lane))
            do state = states[last - lane]; while (state < OWN);
        unsigned int complete = __ballot_sync(0xffffffff, state >= ALL);
        unsigned int sum = (complete == 0 || lane < __ffs(complete)) ? (unsigned int)state : 0;
        for (unsigned int offset = 16; offset > 0; offset >>= 1) sum += __shfl_xor_sync(0xffffffff, sum, offset);
        below += sum;
        if (complete != 0) break;
    }
    if (lane == 0) states[tile] = ALL | (below + total);
    return below;
}

extern "C" __global__ void __launch_bounds__(BLOCK_SIZE, 1024 / BLOCK_SIZE)
filter_lookback(const T *in, T *out, unsigned int n, unsigned int *kept, unsigned long long *states)
{
    __shared__ T packed[TILE];
    __shared__ unsigned int totals[32], drawn, others, count;  // totals: kept by each warp, then kept below it
    unsigned int tid = threadIdx.x, lane = tid % 32, warp = tid / 32;

    // tiles in the order in which blocks start: the blocks below have started, so the wait for them ends
    if (tid == 0) drawn = atomicAdd(reinterpret_cast<unsigned int *>(states), 1);
    __syncthreads();
    unsigned int tile = drawn, first = tile * TILE + warp * (128 * ROUNDS) + lane * 4;

    // all loads are in flight before the first one is used; zeros, which are not kept, past the end
    Four items[ROUNDS];
    for (unsigned int k = 0; k < ROUNDS; ++k) {
        unsigned int i = first + 128 * k;
        if (i + 3 < n) items[k] = *reinterpret_cast<const Four *>(in + i);
        else for (unsigned int j = 0; j < 4; ++j) items[k].element[j] = (i + j < n) ? in[i + j] : T(0);
    }
    unsigned long long counts = 0;  // round k in byte k: up to 128 in a warp
    for (unsigned int k = 0; k < ROUNDS; ++k)
        for (unsigned int j = 0; j < 4; ++j) counts += (unsigned long long)(items[k].element[j] > T(0)) << 8 * k;
    unsigned long long scan = warp_scan(counts), all = __shfl_sync(0xffffffff, scan, 31);
    if (lane == 0) {
        totals[warp] = 0;
        for (unsigned int k = 0; k < ROUNDS; ++k) totals[warp] += all >> 8 * k & 255;
    }
    __syncthreads();

    // just warp 0: scan the counts of the warps and look back
    if (warp == 0) {
        unsigned int own = (lane < BLOCK_SIZE / 32) ? totals[lane] : 0, upto = warp_scan(own);
        totals[lane] = upto - own;
        unsigned int total = __shfl_sync(0xffffffff, upto, 31), below = look_back(states + 1, tile, total);
        if (lane == 0) {
            others = below;
            count = total;
            if (tile == (n - 1) / TILE) kept[0] = below + total;
        }
    }
    __syncthreads();

    unsigned int round = totals[warp];  // kept below this round, in this block
    for (unsigned int k = 0; k < ROUNDS; ++k) {
        unsigned int place = round + ((scan - counts) >> 8 * k & 255);
        for (unsigned int j = 0; j < 4; ++j)
            if (items[k].element[j] > T(0)) packed[place++] = items[k].element[j];
        round += all >> 8 * k & 255;
    }
    __syncthreads();
    for (unsigned int i = tid; i < count; i += BLOCK_SIZE) out[others + i] = packed[i];
}

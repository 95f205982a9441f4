// filter_specialized: one warp only looks back, while the others load and count the next tile.
// Idea: a block takes tile after tile. A tile's kept numbers wait in shared memory until the look-back warp knows how
//   many are kept below them. Meanwhile the other warps load the next tile into their free registers and publish its
//   count, as blocks above may be waiting for it. Then they write the waiting numbers and pack the new ones.
// Fixes (filter_lookback): blocks that loaded nothing while they waited: a fifth of the time at 2^24.
// Limit: memory bandwidth at large n; at small n, the launch and the latency of the look-back.
// Conditions: those of filter_lookback, but a block size of 64 to 256; any grid size.
// Lecture: none: tile states as in Merrill and Garland 2016, warp specialisation as in CUTLASS.
constexpr unsigned int ROUNDS = 8, LOADERS = BLOCK_SIZE - 32;  // of 16 bytes, for each thread that loads
constexpr unsigned int PER_VECTOR = 16 / sizeof(T), TILE = LOADERS * ROUNDS * PER_VECTOR;
union Vector { int4 whole; T element[PER_VECTOR]; };
constexpr unsigned long long OWN = 1ull << 32, ALL = 2ull << 32;  // kinds of states: of one tile, of all so far

// tells the compiler that a value is the same in all lanes; and a barrier for the threads that load
static __device__ unsigned int uniform(unsigned int value) { return __shfl_sync(0xffffffff, value, 0); }
static __device__ void loaders_meet() { asm volatile("bar.sync 1, %0;" ::"n"(LOADERS) : "memory"); }

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

// one warp: look back, publish how many are kept so far; returns how many are kept below this tile
static __device__ unsigned int look_back(volatile unsigned long long *states, unsigned int tile, unsigned int total)
{
    unsigned int lane = threadIdx.x % 32, below = 0, complete = 0;
    for (int other = int(tile) - 1 - int(lane); complete == 0; other -= 32) {
        unsigned long long state = ALL;  // before the first tile: nothing
        if (other >= 0)
            do state = states[other]; while (state < OWN);
        complete = __ballot_sync(0xffffffff, state >= ALL);
        unsigned int sum = (complete == 0 || lane < __ffs(complete)) ? (unsigned int)state : 0;
        for (unsigned int offset = 16; offset > 0; offset >>= 1) sum += __shfl_xor_sync(0xffffffff, sum, offset);
        below += sum;
    }
    if (lane == 0) states[tile] = ALL | (below + total);
    return below;
}

// all loads are in flight before the first one is used; zeros, which are not kept, past the end
static __device__ void fetch(Vector (&items)[ROUNDS], const T *in, unsigned int tile, unsigned int place,
                             unsigned int n)
{
    if (tile * TILE + TILE <= n)
        for (unsigned int k = 0; k < ROUNDS; ++k)
            items[k].whole = __ldcs(reinterpret_cast<const int4 *>(in + tile * TILE + place) + k * 32);
    else
        for (unsigned int k = 0; k < ROUNDS; ++k)
            for (unsigned int j = 0, i = tile * TILE + place + k * 32 * PER_VECTOR; j < PER_VECTOR; ++j, ++i)
                items[k].element[j] = (i < n) ? in[i] : T(0);
}

extern "C" __global__ void __launch_bounds__(BLOCK_SIZE, 1024 / BLOCK_SIZE)
filter_specialized(const T *in, T *out, unsigned int n, unsigned int *kept, unsigned long long *states)
{
    __shared__ T packed[TILE];
    __shared__ unsigned int totals[2][32], others[2], drawn[2];  // double-buffered; one total per warp
    unsigned int tid = threadIdx.x, lane = tid % 32, warp = uniform(tid / 32), *ticket = (unsigned int *)states;
    unsigned int place = (warp * 32 * ROUNDS + lane) * PER_VECTOR, waiting = 0, next = 0;
    bool loads = warp < LOADERS / 32;
    if (tid == 0) drawn[0] = atomicAdd(ticket, 1);
    __syncthreads();
    for (unsigned int turn = 0, tile = uniform(drawn[0]);; turn ^= 1) {
        Vector items[ROUNDS];
        unsigned long long counts = 0, scan, all;  // round k in byte k: up to 128 in a warp
        if (loads && tile * TILE < n) {
            fetch(items, in, tile, place, n);
            for (unsigned int k = 0; k < ROUNDS; ++k)
                for (unsigned int j = 0; j < PER_VECTOR; ++j)
                    counts += (unsigned long long)(items[k].element[j] > T(0)) << 8 * k;
            scan = warp_scan(counts);
            all = __shfl_sync(0xffffffff, scan, 31);
            unsigned int total = 0;
            for (unsigned int k = 0; k < ROUNDS; ++k) total += all >> 8 * k & 255;
            if (lane == 0) totals[turn][warp] = total;
            loaders_meet();
            total = warp_scan((lane < LOADERS / 32) ? totals[turn][lane] : 0);
            if (tid == 31) reinterpret_cast<volatile unsigned long long *>(states)[1 + tile] = OWN | total;
        }
        __syncthreads();
        tile = uniform(drawn[turn]);
        bool more = tile * TILE < n;
        unsigned int own = (more && lane < LOADERS / 32) ? totals[turn][lane] : 0, upto = warp_scan(own);
        unsigned int count = __shfl_sync(0xffffffff, upto, 31);
        if (!loads) {
            if (!more) return;
            unsigned int below = look_back(states + 1, tile, count);
            if (lane == 0) others[turn] = below;
            if (lane == 0 && tile == (n - 1) / TILE) kept[0] = below + count;
            __syncwarp();
            continue;
        }
        if (tid == 0) next = atomicAdd(ticket, 1);  // drawn early, to hide its latency
        for (unsigned int i = tid; i < waiting; i += LOADERS) out[others[turn ^ 1] + i] = packed[i];
        if (!more) return;
        if (tid == 0) drawn[turn ^ 1] = next;
        loaders_meet();
        unsigned int round = __shfl_sync(0xffffffff, upto - own, warp);  // kept below this round, in this block
        for (unsigned int k = 0; k < ROUNDS; ++k) {
            unsigned int at = round + ((scan - counts) >> 8 * k & 255);
            for (unsigned int j = 0; j < PER_VECTOR; ++j)
                if (items[k].element[j] > T(0)) packed[at++] = items[k].element[j];
            round += all >> 8 * k & 255;
        }
        waiting = count;
        tile = uniform(drawn[turn ^ 1]);
    }
}

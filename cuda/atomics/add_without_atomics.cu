// add_without_atomics: out[i % ADDRESSES] += in[i], by blocks that have their addresses to themselves.
// Idea: the addresses are the columns of a matrix with ADDRESSES numbers in a row. A block adds up the columns of LANES
//   lanes, 16 bytes each, from top to bottom. If that leaves multiprocessors idle, the columns are cut into strips of
//   rows, and the blocks of a column hand over their sums in slots: 4 bytes and a flag.
// Fixes (atomic_add_aggregated): all atomics, the launch that sets the sums to zero, and an order of additions that
//   differs from run to run.
// Limit: memory bandwidth; at small n, the launch and one memory latency.
// Conditions: any n; ADDRESSES, LANES and the block size are powers of two; in starts at a multiple of 16 bytes. The
//   grid's x covers the addresses, its y is the number of strips; all of it is resident, as the last strip's blocks
//   wait for the others. A block has at most a column per thread. The slots start as zeros, and end as zeros.
// Lecture: none: after Crovella 2020, "Atomics to the rescue": blocks that share no address need no atomic.
constexpr unsigned int PER_VECTOR = 16 / sizeof(T), COLUMNS = LANES * PER_VECTOR, ROWS = BLOCK_SIZE / LANES;
constexpr unsigned int ACROSS = ADDRESSES < COLUMNS ? LANES : ADDRESSES / PER_VECTOR;  // vectors in a row
constexpr unsigned int KEPT = ADDRESSES < COLUMNS ? ADDRESSES : COLUMNS;  // sums of a block
constexpr unsigned int TOGETHER = LANES < 32 ? 32 : LANES, PARTS = BLOCK_SIZE / TOGETHER, SLOTS = sizeof(T) / 4;
struct alignas(16) Vector { T element[PER_VECTOR]; };
union Words { T value; unsigned int word[SLOTS]; };

static __device__ void add(Vector &sum, Vector vector)
{
    for (unsigned int k = 0; k < PER_VECTOR; k++) sum.element[k] += vector.element[k];
}

static __device__ void hand_over(volatile unsigned long long *slots, T value)
{
    Words bits{value};
    for (unsigned int k = 0; k < SLOTS; k++) slots[k] = 1ull << 32 | bits.word[k];
}

static __device__ T take_over(volatile unsigned long long *slots)
{
    Words bits;
    for (unsigned int k = 0; k < SLOTS; k++) {
        unsigned long long slot;
        do slot = slots[k]; while (slot >> 32 == 0);
        slots[k] = 0;
        bits.word[k] = (unsigned int)slot;
    }
    return bits.value;
}

extern "C" __global__ void __launch_bounds__(BLOCK_SIZE)
add_without_atomics(const T *in, T *out, unsigned int n, volatile unsigned long long *slots)
{
    __shared__ T partial[BLOCK_SIZE * PER_VECTOR];
    const Vector *vectors = reinterpret_cast<const Vector *>(in);
    unsigned int tid = threadIdx.x, lane = tid % LANES, strip = blockIdx.y, strips = gridDim.y;
    unsigned int count = n / PER_VECTOR, step = ROWS * strips * ACROSS;
    unsigned int i = (strip * ROWS + tid / LANES) * ACROSS + blockIdx.x * LANES + lane;

    // each thread adds up vectors of its columns, four of them in flight; then the remaining vectors, and the tail
    Vector sum{};
    #pragma unroll 1  // keeps the code short: code is fetched from memory too
    for (; i + 3 * step < count; i += 4 * step) {
        Vector a = vectors[i], b = vectors[i + step], c = vectors[i + 2 * step], d = vectors[i + 3 * step];
        add(sum, a);
        add(sum, b);
        add(sum, c);
        add(sum, d);
    }
    #pragma unroll 1
    for (; i < count; i += step) add(sum, vectors[i]);
    if (strip == 0 && tid < LANES && count % ACROSS == blockIdx.x * LANES + tid)
        for (unsigned int k = 0; k < n % PER_VECTOR; k++) sum.element[k] += in[count * PER_VECTOR + k];

    // add the rows of a warp, then those of the block, and columns that share an address
    for (unsigned int offset = 16; offset >= LANES; offset >>= 1)
        for (unsigned int k = 0; k < PER_VECTOR; k++)
            sum.element[k] += __shfl_down_sync(0xffffffff, sum.element[k], offset);
    for (unsigned int k = 0; k < PER_VECTOR; k++)
        if (tid % TOGETHER < LANES) partial[tid / TOGETHER * COLUMNS + lane * PER_VECTOR + k] = sum.element[k];
    __syncthreads();
    T own = T(0);
    unsigned int first = blockIdx.x * COLUMNS;
    if (tid < KEPT) {
        #pragma unroll 16
        for (unsigned int part = 0; part < PARTS * COLUMNS / KEPT; part++) own += partial[part * KEPT + tid];
        if (strips == 1) out[first + tid] = own;
        else if (strip < strips - 1) hand_over(slots + (strip * ADDRESSES + first + tid) * SLOTS, own);
    }
    if (strip < strips - 1 || strips == 1) return;

    // the last strip: all threads take over sums of the others, then a tree adds them
    __syncthreads();
    for (unsigned int other = tid / KEPT; other < strips - 1; other += BLOCK_SIZE / KEPT)
        own += take_over(slots + (other * ADDRESSES + first + tid % KEPT) * SLOTS);
    partial[tid] = own;
    for (unsigned int half = BLOCK_SIZE / 2; half >= KEPT; half >>= 1) {
        __syncthreads();
        if (tid < half) partial[tid] += partial[tid + half];
    }
    if (tid < KEPT) out[first + tid] = partial[tid];
}

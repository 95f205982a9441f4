// column_sums_narrow: the sum of every column, one block for a few columns, from top to bottom.
// Idea: a warp need not read 32 neighbours, only whole sectors. So a row of threads is LANES lanes of 16 bytes, and a
//   block has many such rows: with 64 or 128 bytes there are blocks for every multiprocessor without strips, and each
//   sum is written once.
// Fixes (column_sums_strips): the atomics that join strips, the launch that sets the sums to zero for them, and an
//   order of additions that differs from run to run.
// Limit: memory bandwidth; at small n, the launch and one memory latency.
// Conditions: any n; in starts at a multiple of 16 bytes; the matrix is n x n, row by row; the block size is a multiple
//   of 32, LANES 2, 4 or 8. The grid covers the columns, LANES * 16 bytes a block.
// Lecture: none: after CS121, "Coalescing example".
constexpr unsigned int PER_VECTOR = 16 / sizeof(T), COLUMNS = LANES * PER_VECTOR, ROWS = BLOCK_SIZE / LANES;
constexpr unsigned int LOADS = 4;  // in flight per thread
struct alignas(16) Vector { T element[PER_VECTOR]; };

static __device__ void add(Vector &sum, Vector vector)
{
    for (unsigned int k = 0; k < PER_VECTOR; k++) sum.element[k] += vector.element[k];
}

// a thread's numbers of a row, at most `left`; rows that do not start at 16 bytes are read word by word
template <bool ALIGNED>
static __device__ Vector load(const T *at, unsigned int left)
{
    if (ALIGNED) return *reinterpret_cast<const Vector *>(at);
    Vector words{};
    for (unsigned int k = 0; k < PER_VECTOR; k++) if (k < left) words.element[k] = at[k];
    return words;
}

// the sums of a thread's columns over its own rows
template <bool ALIGNED>
static __device__ Vector walk(const T *in, unsigned int row, unsigned int column, unsigned int n)
{
    Vector sum{};
    if (column >= n) return sum;
    unsigned int at = row * n + column, step = ROWS * n, left = n - column;
    #pragma unroll 1  // keeps the code short: code is fetched from memory too
    for (; row + (LOADS - 1) * ROWS < n; row += LOADS * ROWS, at += LOADS * step) {
        Vector some[LOADS];
        for (unsigned int k = 0; k < LOADS; k++) some[k] = load<ALIGNED>(in + (at + k * step), left);
        for (unsigned int k = 0; k < LOADS; k++) add(sum, some[k]);
    }
    #pragma unroll 1
    for (; row < n; row += ROWS, at += step) add(sum, load<ALIGNED>(in + at, left));
    return sum;
}

extern "C" __global__ void __launch_bounds__(BLOCK_SIZE)
column_sums_narrow(const T *in, T *out, unsigned int n)
{
    __shared__ T partial[BLOCK_SIZE / 32][COLUMNS];
    unsigned int tid = threadIdx.x, lane = tid % LANES, row = tid / LANES;
    unsigned int column = blockIdx.x * COLUMNS + lane * PER_VECTOR;
    Vector sum = n % PER_VECTOR == 0 ? walk<true>(in, row, column, n) : walk<false>(in, row, column, n);

    // add the rows of a warp, then those of the block
    for (unsigned int offset = 16; offset >= LANES; offset >>= 1)
        for (unsigned int k = 0; k < PER_VECTOR; k++)
            sum.element[k] += __shfl_down_sync(0xffffffff, sum.element[k], offset);
    for (unsigned int k = 0; k < PER_VECTOR; k++)
        if (tid % 32 < LANES) partial[tid / 32][lane * PER_VECTOR + k] = sum.element[k];
    __syncthreads();
    if (tid >= COLUMNS || blockIdx.x * COLUMNS + tid >= n) return;
    T total = T(0);
    for (unsigned int warp = 0; warp < BLOCK_SIZE / 32; warp++) total += partial[warp][tid];
    out[blockIdx.x * COLUMNS + tid] = total;
}

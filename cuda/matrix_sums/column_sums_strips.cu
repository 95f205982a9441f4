// column_sums_strips: the sum of every column, many blocks per column, four columns a thread.
// Idea: cut the columns into strips of rows. A warp walks down 128 neighbouring columns of a strip, 16 bytes per lane
//   and eight rows in flight at once; the warps of a block share its strip, and one atomic per column and block joins
//   the strips.
// Fixes (column_sums): the lack of threads, n for n * n numbers, each with only a few words in flight.
// Limit: memory bandwidth; at small n, the atomics.
// Conditions: any n; in starts at a multiple of 16 bytes; the matrix is n x n, row by row; the block size is a multiple
//   of 32. out is zero before. The grid's x covers the columns, 128 a block; its y is the number of strips.
// Lecture: none: after CS121, "Coalescing example", with the grid-stride sum.
#define ROWS 8  // in flight at once
struct alignas(16) Four { T element[4]; };

extern "C" __global__ void __launch_bounds__(BLOCK_SIZE)
column_sums_strips(const T *in, T *out, unsigned int n)
{
    __shared__ T partial[BLOCK_SIZE / 32][128];
    unsigned int lane = threadIdx.x % 32, warp = threadIdx.x / 32, warps = BLOCK_SIZE / 32;
    unsigned int column = blockIdx.x * 128 + lane * 4;
    unsigned int begin = (unsigned long long)n * blockIdx.y / gridDim.y;
    unsigned int end = (unsigned long long)n * (blockIdx.y + 1) / gridDim.y;

    Four sum{};
    for (unsigned int row = begin + warp; row < end; row += ROWS * warps) {
        Four rows[ROWS] = {};
        #pragma unroll
        for (unsigned int k = 0; k < ROWS; ++k) {
            unsigned int r = row + k * warps;
            const T *at = in + (size_t)r * n + column;
            if (n % 4 == 0 && r < end && column < n) rows[k] = *reinterpret_cast<const Four *>(at);
            else if (n % 4 != 0)
                for (unsigned int j = 0; j < 4; ++j)
                    if (r < end && column + j < n) rows[k].element[j] = at[j];
        }
        for (unsigned int k = 0; k < ROWS; ++k)
            for (unsigned int j = 0; j < 4; ++j) sum.element[j] += rows[k].element[j];
    }
    for (unsigned int j = 0; j < 4; ++j) partial[warp][lane * 4 + j] = sum.element[j];
    __syncthreads();

    // each thread joins the warps' sums of a column
    for (unsigned int c = threadIdx.x; c < 128; c += BLOCK_SIZE) {
        T total = T(0);
        for (unsigned int other = 0; other < warps; ++other) total += partial[other][c];
        if (blockIdx.x * 128 + c < n) atomicAdd(&out[blockIdx.x * 128 + c], total);
    }
}

// row_sums_vectorized: the sum of every row, one block per row, 16-byte loads, four in flight per thread.
// Idea: memory is fast only while enough bytes are in flight. Each thread requests four pieces of 16 bytes before it
//   uses the first.
// Fixes (row_sums_shuffle): one load of one word in flight per thread.
// Limit: memory bandwidth, once the rows are long; at small n, blocks that have little to do.
// Conditions: any n; in starts at a multiple of 16 bytes, the rows need not; the matrix is n x n, row by row; the block
//   size is a multiple of 32.
// Lecture: none: after hw5 of NVIDIA's CUDA training series: row sums, with the loads of the vectorized sum.
constexpr unsigned int PER_VECTOR = 16 / sizeof(T);
struct alignas(16) Vector { T element[PER_VECTOR]; };

static __device__ T add(Vector vector)
{
    T sum = vector.element[0];
    for (unsigned int k = 1; k < PER_VECTOR; k++) sum += vector.element[k];
    return sum;
}

extern "C" __global__ void __launch_bounds__(BLOCK_SIZE)
row_sums_vectorized(const T *in, T *out, unsigned int n)
{
    __shared__ T partial[32];  // one sum per warp
    unsigned int tid = threadIdx.x;
    unsigned int row = blockIdx.x;
    unsigned int lane = threadIdx.x % 32;
    unsigned int warp = threadIdx.x / 32;

    // the vectors that lie wholly in this row, and at its two ends fewer elements than a vector has
    const T *begin = in + (size_t)row * n, *end = begin + n;
    unsigned int head = min(n, (unsigned int)(-((size_t)row * n) % PER_VECTOR));
    const Vector *vectors = reinterpret_cast<const Vector *>(begin + head);
    unsigned int count = (n - head) / PER_VECTOR, tail = (n - head) % PER_VECTOR;

    // each thread adds one element of an end, then four vectors at a time, zeros beyond the last
    T sum = (tid < head) ? begin[tid] : T(0);
    if (tid < tail) sum += end[-1 - int(tid)];
    for (unsigned int i = tid; i < count; i += 4 * BLOCK_SIZE) {
        Vector a = vectors[i], b{}, c{}, d{};
        if (i + BLOCK_SIZE < count) b = vectors[i + BLOCK_SIZE];
        if (i + 2 * BLOCK_SIZE < count) c = vectors[i + 2 * BLOCK_SIZE];
        if (i + 3 * BLOCK_SIZE < count) d = vectors[i + 3 * BLOCK_SIZE];
        sum += (add(a) + add(b)) + (add(c) + add(d));
    }

    // reduce in each warp
    for (unsigned int offset = 16; offset > 0; offset >>= 1)
        sum += __shfl_down_sync(0xffffffff, sum, offset);
    if (lane == 0) partial[warp] = sum;
    __syncthreads();

    // hereafter, just warp 0: reduce the sums of the warps
    if (warp == 0) {
        sum = (lane < BLOCK_SIZE / 32) ? partial[lane] : T(0);
        for (unsigned int offset = 16; offset > 0; offset >>= 1)
            sum += __shfl_down_sync(0xffffffff, sum, offset);
        if (lane == 0) out[row] = sum;
    }
}

// transpose_vectorized: out[column][row] = in[row][column], 16 bytes at a time, through a swizzled tile.
// Idea: a thread loads a square, 16 bytes from each of its rows (4 x 4 numbers of 4 bytes). Its registers, read the
//   other way round, hold the transposed square, and go to shared memory as 16-byte pieces of columns. Piece p lies in
//   row r of the tile at p XOR r / V: eight lanes use all 32 banks, and no padding is needed.
// Fixes (transpose_padded): one word per load and per store. All loads of a thread are in flight before the first is
//   used, and rows are read and written 256 bytes at a time. Consecutive blocks write adjacent memory instead of
//   reading it, which suits the memory better.
// Limit: memory bandwidth: every byte is read once and written once.
// Conditions: any n; in and out start at a multiple of 16 bytes; at most 256 threads in a block, a power of two. If the
//   rows do not start so (n is no multiple of 4, or 2 for 8-byte numbers), the numbers are moved one by one.
// Lecture: none. This rung has to reach the copy.
constexpr unsigned int V = 16 / sizeof(T), SIDE = 16 * V;  // numbers in a piece, and on a side of the tile
struct alignas(16) Vector { T element[V]; };

__shared__ Vector tile[SIDE][16];  // tile[column][...]: 16 pieces of the rows, swizzled

// the place of a piece in row r of the tile: r / V, the row of squares, permutes the pieces
__device__ Vector &piece(unsigned int r, unsigned int number)
{
    return tile[r][number ^ (r / V)];
}

// rows with any start: one number at a time, still coalesced
__device__ void transpose_words(const T *in, T *out, unsigned int n, unsigned int row0, unsigned int column0)
{
    for (unsigned int i = threadIdx.x; i < SIDE * SIDE; i += BLOCK_SIZE) {
        unsigned int r = i / SIDE, c = i % SIDE;
        if (row0 + r < n && column0 + c < n) piece(c, r / V).element[r % V] = in[(row0 + r) * n + column0 + c];
    }
    __syncthreads();
    for (unsigned int i = threadIdx.x; i < SIDE * SIDE; i += BLOCK_SIZE) {
        unsigned int r = i / SIDE, c = i % SIDE;
        if (column0 + r < n && row0 + c < n) out[(column0 + r) * n + row0 + c] = piece(r, c / V).element[c % V];
    }
}

extern "C" __global__ void __launch_bounds__(BLOCK_SIZE)
transpose_vectorized(const T *in, T *out, unsigned int n)
{
    unsigned int row0 = blockIdx.x * SIDE, column0 = blockIdx.y * SIDE;
    if (n % V != 0) return transpose_words(in, out, n, row0, column0);

    // squares of V x V numbers: read rows, and store columns when all loads are in flight
    constexpr unsigned int EACH = 256 / BLOCK_SIZE;  // squares of a thread
    Vector read[EACH][V];
    for (unsigned int e = 0; e < EACH; e++) {
        unsigned int i = threadIdx.x + e * BLOCK_SIZE, row = row0 + i / 16 * V, column = column0 + i % 16 * V;
        for (unsigned int k = 0; k < V; k++)
            if (row < n && column < n) read[e][k] = *reinterpret_cast<const Vector *>(in + (row + k) * n + column);
    }
    for (unsigned int e = 0; e < EACH; e++) {
        unsigned int i = threadIdx.x + e * BLOCK_SIZE;
        for (unsigned int j = 0; j < V; j++) {
            Vector turned;
            for (unsigned int k = 0; k < V; k++) turned.element[k] = read[e][k].element[j];
            piece(i % 16 * V + j, i / 16) = turned;
        }
    }
    __syncthreads();

    for (unsigned int i = threadIdx.x; i < 256; i += BLOCK_SIZE) {
        unsigned int r = i / 16 * V, row = column0 + r, column = row0 + i % 16 * V;
        for (unsigned int k = 0; k < V; k++)
            if (row < n && column < n) *reinterpret_cast<Vector *>(out + (row + k) * n + column) = piece(r + k, i % 16);
    }
}

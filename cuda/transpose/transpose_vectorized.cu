// transpose_vectorized: out[column][row] = in[row][column], 16 bytes at a time, through a swizzled tile.
// Idea: a thread loads a square, 16 bytes of as many rows as 16 bytes have numbers (4 x 4 of 4 bytes each). Its
//   registers, read the other way round, are that square transposed, and go to shared memory as 16-byte pieces of
//   columns. Piece p lies in row r of the tile at p XOR r / V: eight lanes meet all 32 banks, and nothing is padded.
// Fixes: one word per load and per store. All loads of a thread are in flight before the first is used, and rows are
//   read and written 256 bytes at a time. Consecutive blocks write side by side, rather than read so, which suits the
//   memory better.
// Limit: the memory itself, which every byte crosses twice.
// Conditions: any n; in and out start at a multiple of 16 bytes; at most 256 threads in a block, a power of two. Where
//   the rows themselves do not (n is no multiple of 4, or 2 for 8-byte numbers), the numbers go one by one.
// Lecture: none. It is the rung that has to reach the copy.
constexpr unsigned int V = 16 / sizeof(T), SIDE = 16 * V;  // numbers in a piece, and on a side of the tile
struct alignas(16) Vector { T element[V]; };

__shared__ Vector tile[SIDE][16];  // tile[column][...]: 16 pieces of the rows, swizzled

// where a piece of the tile lies: row r, and the squares' row r / V exchanges the pieces
__device__ Vector &piece(unsigned int r, unsigned int number)
{
    return tile[r][number ^ (r / V)];
}

// rows that start anywhere: one number at a time, still neighbours by neighbours
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

    // squares of V x V numbers: read rows, and store columns once all loads are on their way
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

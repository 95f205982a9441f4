// row_sums_staged: the sum of every row, columns read from shared memory.
// Idea: the block copies 32 columns of its rows to shared memory, row by row and coalesced. Then each thread walks
//   along its row there: scattered reads cost less in shared memory, if no two lanes meet in a bank.
// Fixes (row_sums): the uncoalesced reads. Each request to global memory touches 4 sectors and uses all of them.
// Limit: bank conflicts. A row of the tile is 32 words, so all lanes of a warp read from the same bank: 32 passes.
// Conditions: any n; the matrix is n x n, row by row. Block size 32 to 128: the tile has 32 numbers per thread.
// Lecture: CS121, "Improving coalescing".
extern "C" __global__ void row_sums_staged(const T *in, T *out, unsigned int n)
{
    __shared__ T tile[BLOCK_SIZE][32];
    unsigned int tid = threadIdx.x;
    unsigned int first = blockIdx.x * blockDim.x;  // the first row of this block

    T sum = T(0);
    for (unsigned int left = 0; left < n; left += 32) {
        // each warp copies one row of the tile after the other, zeros beyond the border
        unsigned int column = left + tid % 32;
        for (unsigned int r = tid / 32; r < BLOCK_SIZE; r += BLOCK_SIZE / 32)
            tile[r][tid % 32] = (first + r < n && column < n) ? in[(first + r) * n + column] : T(0);
        __syncthreads();  // the tile is complete

#pragma unroll 1  // unrolled, the compiler would join reads of neighbouring words into one wide read
        for (unsigned int c = 0; c < 32; ++c)
            sum += tile[tid][c];
        __syncthreads();  // the tile is no longer needed
    }

    if (first + tid < n) out[first + tid] = sum;
}

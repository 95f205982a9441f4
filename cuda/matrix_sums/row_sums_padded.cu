// row_sums_padded: the sum of every row, columns read from a padded tile in shared memory.
// Idea: one unused column makes a row of the tile 33 words long, so the numbers of a column lie in different banks.
// Fixes (row_sums_staged): the bank conflicts. Lane l reads word 33 * l + c, which lies in bank (l + c) % 32: one pass.
// Limit: the loop over the tile takes one number per step, between two barriers.
// Conditions: any n; the matrix is n x n, row by row. Block size 32 to 128: the tile has 33 numbers per thread.
// Lecture: CS121, "Improving coalescing" and "Bank conflicts".
extern "C" __global__ void row_sums_padded(const T *in, T *out, unsigned int n)
{
    __shared__ T tile[BLOCK_SIZE][32 + 1];
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

// matrix_padded: each warp reads its matrix row by row into a padded tile, and column by column from there.
// Idea: one unused column makes a row of the tile 33 words long, so the numbers of a column lie in different banks.
// Fixes (matrix_staged): the bank conflicts. Lane l reads word 33 * l + c, which lies in bank (l + c) % 32: one pass.
// Limit: nearly memory bandwidth: every number is stored to shared memory and read back before it is added.
// Conditions: any n; in holds a matrix for each warp, one after the other. Block size 32 to 256: the tiles have 33
//   numbers per thread.
// Lecture: CS121, "Improving coalescing" and "Bank conflicts".
extern "C" __global__ void matrix_padded(const T *in, T *out, unsigned int n)
{
    __shared__ T tiles[BLOCK_SIZE / 32][32][32 + 1];  // one for each warp
    unsigned int i = blockIdx.x * blockDim.x + threadIdx.x;
    unsigned int lane = threadIdx.x % 32, warp = threadIdx.x / 32;
    const T *matrix = in + (i - lane) * 32;  // this warp's

    for (unsigned int row = 0; row < 32; ++row)
        tiles[warp][row][lane] = matrix[row * 32 + lane];
    __syncthreads();

    T sum = T(0);
#pragma unroll 1  // unrolled, the compiler would join reads of neighbouring words into one wide read
    for (unsigned int column = 0; column < 32; ++column)
        sum += tiles[warp][lane][column];

    if (i < n) out[i] = sum;
}

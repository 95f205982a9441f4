// matrix_staged: each warp reads its matrix row by row into shared memory, and column by column from there.
// Idea: global memory is read coalesced. The scattered accesses go to shared memory, where only bank conflicts cost.
// Fixes (matrix_by_column): the uncoalesced reads. Each request to global memory touches 4 sectors and uses all of
//   them.
// Limit: bank conflicts. A row of the tile is 32 words, so all lanes of a warp read from the same bank: 32 passes.
// Conditions: any n; in holds a matrix for each warp, one after the other. Block size 32 to 256: the tiles have 32
//   numbers per thread.
// Lecture: CS121, "Improving coalescing".
extern "C" __global__ void matrix_staged(const T *in, T *out, unsigned int n)
{
    __shared__ T tiles[BLOCK_SIZE / 32][32][32];  // one for each warp
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

// matrix_by_column: each warp goes through its matrix of 32 x 32 numbers column by column, one thread per row.
// Idea: the same loop with the two indices exchanged. In each of 32 iterations the warp reads one column: 32 numbers, a
//   whole row apart.
// Fixes (matrix_by_row): nothing; it shows what coalescing is worth.
// Limit: uncoalesced reads. Each request touches 32 lines, and the L1 cache looks them up one after the other. The next
//   seven iterations use the rest of each sector: that saves memory traffic, but no look-up.
// Conditions: any n; in holds a matrix for each warp, one after the other. Thread i writes the sum of its row.
// Lecture: CS121, "Coalescing example", by column.
extern "C" __global__ void matrix_by_column(const T *in, T *out, unsigned int n)
{
    unsigned int i = blockIdx.x * blockDim.x + threadIdx.x;
    unsigned int lane = threadIdx.x % 32;
    const T *matrix = in + (i - lane) * 32;  // this warp's

    T sum = T(0);
    for (unsigned int column = 0; column < 32; ++column)
        sum += matrix[lane * 32 + column];

    if (i < n) out[i] = sum;
}

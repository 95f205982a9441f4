// row_sums: the sum of every row, one thread per row.
// Idea: each thread walks along its row. In one step the threads of a warp read 32 numbers of one column, n numbers
//   apart: the matrix is iterated column by column.
// Fixes (column_sums): nothing; the same loop as for columns, with the two indices exchanged.
// Limit: uncoalesced reads. Each request touches 32 sectors and uses one number of each; the cache helps only while it
//   can keep 32 sectors per warp until the next steps need the rest of them.
// Conditions: any n; the matrix is n x n, row by row.
// Lecture: CS121, "Coalescing example", by column; hw4 of NVIDIA's CUDA training series: row sums.
extern "C" __global__ void row_sums(const T *in, T *out, unsigned int n)
{
    unsigned int row = blockIdx.x * blockDim.x + threadIdx.x;

    if (row < n) {
        T sum = T(0);
        for (unsigned int column = 0; column < n; ++column)
            sum += in[row * n + column];
        out[row] = sum;
    }
}

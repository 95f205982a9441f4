// column_sums: the sum of every column, one thread per column.
// Idea: each thread walks down its column. In one step the threads of a warp read 32 neighbouring numbers of one row:
//   the matrix is iterated row by row.
// Fixes: nothing; a matrix in row-major order should be read like this.
// Limit: parallelism. There are only n threads for n * n numbers, and each has a few loads in flight.
// Conditions: any n; the matrix is n x n, row by row.
// Lecture: CS121, "Coalescing example", by row; hw4 of NVIDIA's CUDA training series: column sums.
extern "C" __global__ void column_sums(const T *in, T *out, unsigned int n)
{
    unsigned int column = blockIdx.x * blockDim.x + threadIdx.x;

    if (column < n) {
        T sum = T(0);
        for (unsigned int row = 0; row < n; ++row)
            sum += in[row * n + column];
        out[column] = sum;
    }
}

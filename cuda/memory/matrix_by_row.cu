// matrix_by_row: each warp has a matrix of 32 x 32 numbers and goes through it row by row, one thread per column.
// Idea: in each of 32 iterations the warp reads one row: 32 neighbours, which lie in one segment.
// Fixes: nothing; a matrix in row-major order should be read like this.
// Limit: memory bandwidth.
// Conditions: any n; in holds a matrix for each warp, one after the other. Thread i writes the sum of its column. The
//   lecture's picture has warps of 4 threads and matrices of 4 x 4.
// Lecture: CS121, "Coalescing example", by row.
extern "C" __global__ void matrix_by_row(const T *in, T *out, unsigned int n)
{
    unsigned int i = blockIdx.x * blockDim.x + threadIdx.x;
    unsigned int lane = threadIdx.x % 32;
    const T *matrix = in + (i - lane) * 32;  // this warp's

    T sum = T(0);
    for (unsigned int row = 0; row < 32; ++row)
        sum += matrix[row * 32 + lane];

    if (i < n) out[i] = sum;
}

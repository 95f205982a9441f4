// row_sums_block: the sum of every row, one block per row.
// Idea: the threads of a block walk along one row together, so neighbouring threads read neighbouring numbers. Then
//   they reduce their sums in shared memory.
// Fixes (row_sums): the uncoalesced reads of one thread per row, and the lack of threads: n blocks instead of n
//   threads.
// Limit: the tree in shared memory, with a barrier per step, for a row of only n numbers.
// Conditions: any n; the matrix is n x n, row by row; the block size is a power of two.
// Lecture: hw5 of NVIDIA's CUDA training series: row sums, one block per row, reduced in shared memory.
extern "C" __global__ void row_sums_block(const T *in, T *out, unsigned int n)
{
    __shared__ T partial[BLOCK_SIZE];
    unsigned int tid = threadIdx.x;
    unsigned int row = blockIdx.x;

    // each thread adds every blockDim.x-th number of the row
    T sum = T(0);
    for (unsigned int column = tid; column < n; column += blockDim.x)
        sum += in[row * n + column];
    partial[tid] = sum;
    __syncthreads();

    // reduce in shared memory
    for (unsigned int stride = blockDim.x / 2; stride > 0; stride >>= 1) {
        if (tid < stride)
            partial[tid] += partial[tid + stride];
        __syncthreads();
    }

    // write the sum of this row
    if (tid == 0) out[row] = partial[0];
}

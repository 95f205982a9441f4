// row_sums_shuffle: the sum of every row, one block per row, reduced by warp shuffles.
// Idea: the threads of a block walk along one row together. Then the lanes of a warp hand over registers by shuffles.
// Fixes (row_sums_block): the tree in shared memory: one barrier instead of one per step, and one shared word per warp.
// Limit: reading memory, once the rows are long; at small n, blocks that have little to do.
// Conditions: any n; the matrix is n x n, row by row; the block size is a multiple of 32.
// Lecture: after hw5 of NVIDIA's CUDA training series: row sums, with the warp shuffle reduction.
extern "C" __global__ void row_sums_shuffle(const T *in, T *out, unsigned int n)
{
    __shared__ T partial[32];  // one sum per warp
    unsigned int tid = threadIdx.x;
    unsigned int row = blockIdx.x;
    unsigned int lane = threadIdx.x % 32;
    unsigned int warp = threadIdx.x / 32;

    // each thread adds every blockDim.x-th number of the row
    T sum = T(0);
    for (unsigned int column = tid; column < n; column += blockDim.x)
        sum += in[row * n + column];

    // reduce in each warp
    for (unsigned int offset = 16; offset > 0; offset >>= 1)
        sum += __shfl_down_sync(0xffffffff, sum, offset);
    if (lane == 0) partial[warp] = sum;
    __syncthreads();

    // hereafter, just warp 0: reduce the sums of the warps
    if (warp == 0) {
        sum = (lane < blockDim.x / 32) ? partial[lane] : T(0);
        for (unsigned int offset = 16; offset > 0; offset >>= 1)
            sum += __shfl_down_sync(0xffffffff, sum, offset);
        if (lane == 0) out[row] = sum;
    }
}

// floats_double: the numbers stay as they are, the sums are doubles.
// Idea: a reduction waits for memory, so the numbers in memory stay small. Only the sum needs more digits: a double has
//   53, so it would stop at 2^53 ones.
// Fixes: the roundings themselves. The sum of these ones is exact, in every order: no bits are left to drop. Other
//   float32 numbers may need more than 53 digits, but the dropped part is then 2^29 times smaller.
// Limit: with float64 numbers the roundings are back, 2^29 times smaller than those of float32. And a GPU for games
//   adds doubles at 1/32 or 1/64 of the speed of floats.
// Conditions: any n and any grid size; the block size is a power of two. The result is a double.
// Lecture: Crovella 2020, "Reduce version 9" and "Further study": Floating point.
extern "C" __global__ void floats_double(const T *in, double *out, unsigned int n)
{
    __shared__ double partial[BLOCK_SIZE];
    unsigned int tid = threadIdx.x;
    unsigned int i = blockIdx.x * blockDim.x + threadIdx.x;
    unsigned int grid_stride = blockDim.x * gridDim.x;

    // each thread adds as many elements as necessary
    double mine = 0;
    while (i < n) {
        mine += in[i];
        i += grid_stride;
    }
    partial[tid] = mine;
    __syncthreads();

    // reduce in shared memory
    for (unsigned int stride = blockDim.x / 2; stride > 0; stride >>= 1) {
        if (tid < stride)
            partial[tid] += partial[tid + stride];
        __syncthreads();
    }

    // add the sum of this block to the result
    if (tid == 0) atomicAdd(out, partial[0]);
}

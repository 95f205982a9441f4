// argmax_tree: the largest of n numbers and its place; of equal ones the first.
// Idea: the tree of the maximum with pairs: every number travels with its place. Of two equal numbers the one with the
//   smaller place wins, so the order in which the tree compares does not matter.
// Fixes (reduce_max): the lost place. A maximum forgets where it was found, and a second search would read everything
//   again.
// Limit: one word in flight per thread, twice the shared memory traffic of the maximum, and two launches.
// Conditions: any n and any grid size; no NaN; the block size is a power of two. out has the largest number and its
//   place as doubles, which hold both exactly.
// Lecture: none: after Heidelberg 07, "Parallel reduction": associative operations.
__device__ bool wins(T number, unsigned int place, T other, unsigned int other_place)
{
    return number > other || (number == other && place < other_place);
}

// the best of a block's pairs, in element 0 of both arrays
__device__ void block_tree(T *number, unsigned int *place)
{
    unsigned int tid = threadIdx.x;
    __syncthreads();
    for (unsigned int stride = blockDim.x / 2; stride > 0; stride >>= 1) {
        if (tid < stride && wins(number[tid + stride], place[tid + stride], number[tid], place[tid])) {
            number[tid] = number[tid + stride];
            place[tid] = place[tid + stride];
        }
        __syncthreads();
    }
}

extern "C" __global__ void argmax_tree(const T *in, T *numbers, unsigned int n, unsigned int *places)
{
    __shared__ T number[BLOCK_SIZE];
    __shared__ unsigned int place[BLOCK_SIZE];
    unsigned int tid = threadIdx.x;

    // each thread compares as many elements as necessary, in the order of their places
    T mine = in[0];
    unsigned int at = 0;
    for (unsigned int i = blockIdx.x * blockDim.x + tid; i < n; i += blockDim.x * gridDim.x)
        if (in[i] > mine) {
            mine = in[i];
            at = i;
        }
    number[tid] = mine;
    place[tid] = at;
    block_tree(number, place);

    if (tid == 0) numbers[blockIdx.x] = number[0];
    if (tid == 0) places[blockIdx.x] = place[0];
}

// the best of the blocks' pairs: one block
extern "C" __global__ void best_of_blocks(const T *numbers, const unsigned int *places, unsigned int n, double *out)
{
    __shared__ T number[BLOCK_SIZE];
    __shared__ unsigned int place[BLOCK_SIZE];
    unsigned int tid = threadIdx.x;

    T mine = numbers[0];
    unsigned int at = places[0];
    for (unsigned int i = tid; i < n; i += blockDim.x)
        if (wins(numbers[i], places[i], mine, at)) {
            mine = numbers[i];
            at = places[i];
        }
    number[tid] = mine;
    place[tid] = at;
    block_tree(number, place);

    if (tid == 0) out[0] = number[0];
    if (tid == 0) out[1] = place[0];
}

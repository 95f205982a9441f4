// reduce_atomic_cas: grid-stride loop and one atomic per block, built on atomicCAS.
// Idea: any atomic can be built from compare-and-swap: compute the new value from the value believed to be there, and
//   swap it in only if it is still there. If it is not, try again with the value found.
// Fixes (reduce_grid_stride_host): the sum on the host, on GPUs that have no atomicAdd for the type (double before
//   Pascal).
// Limit: of many threads at one address only one succeeds per round, and the others try again. So it is used once per
//   block here, not once per element.
// Conditions: any n and any grid size; power-of-two block size; 32- and 64-bit types.
// Lecture: Crovella 2020, "atomicAdd implementation", which first reads the old value; here the first guess is 0.
template <unsigned int bytes> struct Unsigned { using Type = unsigned int; };
template <> struct Unsigned<8> { using Type = unsigned long long; };

union Bits {
    T value;
    Unsigned<sizeof(T)>::Type word;  // the same bits as an unsigned integer, which atomicCAS compares
};

__device__ void atomic_add(T *address, T value)
{
    Bits old, assumed, sum;
    old.value = T(0);  // a first guess; if it is wrong, the first atomicCAS returns the true value
    do {
        assumed = old;
        sum.value = assumed.value + value;
        old.word = atomicCAS(&((Bits *)address)->word, assumed.word, sum.word);
    } while (old.word != assumed.word);  // words, not values: with NaN != NaN the loop would never end
}

extern "C" __global__ void reduce_atomic_cas(const T *in, T *out, unsigned int n)
{
    __shared__ T partial[BLOCK_SIZE];
    unsigned int tid = threadIdx.x;
    unsigned int i = blockIdx.x * blockDim.x + threadIdx.x;
    unsigned int grid_stride = blockDim.x * gridDim.x;

    // each thread adds as many elements as necessary
    partial[tid] = T(0);
    while (i < n) {
        partial[tid] += in[i];
        i += grid_stride;
    }
    __syncthreads();

    // reduce in shared memory
    for (unsigned int stride = blockDim.x / 2; stride > 0; stride >>= 1) {
        if (tid < stride)
            partial[tid] += partial[tid + stride];
        __syncthreads();
    }

    // add the sum of this block to the result
    if (tid == 0) atomic_add(out, partial[0]);
}

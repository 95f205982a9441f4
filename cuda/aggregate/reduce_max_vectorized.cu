// reduce_max_vectorized: the largest of n numbers, 16-byte loads, four in flight per thread.
// Idea: the fastest sum with the operator max: four pieces of 16 bytes are in flight before the first is used, and each
//   block hands its number to the last block in an 8-byte slot that holds 4 bytes of it and a flag.
// Fixes (reduce_max): one load of one word in flight per thread, a barrier in every step of the tree, and the second
//   launch.
// Limit: memory bandwidth at large n; at small n, the launch and two memory latencies.
// Conditions: any n; any grid that is resident at once (a larger one relies on the order in which blocks start); in
//   starts at a multiple of 16 bytes; the block size is a multiple of 32. The slots start and end as zeros.
// Lecture: none: after Heidelberg 07, "Parallel reduction", at memory speed.
constexpr unsigned int PER_VECTOR = 16 / sizeof(T), SLOTS = sizeof(T) / 4;  // slots per block: 4 bytes in each
struct alignas(16) Vector { T element[PER_VECTOR]; };
union Words { T value; unsigned int word[SLOTS]; };

__device__ T combine(T a, T b)
{
    return max(a, b);
}

__device__ T combine(Vector vector)
{
    T mine = vector.element[0];
    for (unsigned int k = 1; k < PER_VECTOR; k++) mine = combine(mine, vector.element[k]);
    return mine;
}

// a warp's values combined, in lane 0
__device__ T warp_reduce(T mine)
{
#if __CUDA_ARCH__ >= 800
    if (T(1) / T(2) == T(0)) return T(__reduce_max_sync(0xffffffff, int(mine)));  // integers: one instruction
#endif
    for (unsigned int offset = 16; offset > 0; offset >>= 1)
        mine = combine(mine, __shfl_down_sync(0xffffffff, mine, offset));
    return mine;
}

// a block's values combined, in thread 0
__device__ T block_reduce(T mine)
{
    __shared__ T partial[32];  // one number per warp
    unsigned int lane = threadIdx.x % 32, warp = threadIdx.x / 32;
    mine = warp_reduce(mine);
    if (lane == 0) partial[warp] = mine;
    __syncthreads();
    if (threadIdx.x > 0) return mine;
    mine = partial[0];  // one thread combines the numbers of the warps: less code than a second tree, and as fast
#pragma unroll
    for (unsigned int other = 1; other < BLOCK_SIZE / 32; other++) mine = combine(mine, partial[other]);
    return mine;
}

extern "C" __global__ void __launch_bounds__(BLOCK_SIZE)
reduce_max_vectorized(const T *in, T *out, unsigned int n, volatile unsigned long long *slots)
{
    const Vector *vectors = reinterpret_cast<const Vector *>(in);
    unsigned int tid = threadIdx.x, count = n / PER_VECTOR;
    unsigned int i = blockIdx.x * (4 * BLOCK_SIZE) + tid;

    // each thread compares one element of the tail, then four vectors at a time, past the end the last one
    T mine = (i < n % PER_VECTOR) ? in[n - 1 - i] : in[0];  // any element of the array is a safe start
    for (; i < count; i += 4 * BLOCK_SIZE * gridDim.x) {
        Vector a = vectors[i];
        Vector b = vectors[min(i + BLOCK_SIZE, count - 1)];
        Vector c = vectors[min(i + 2 * BLOCK_SIZE, count - 1)];
        Vector d = vectors[min(i + 3 * BLOCK_SIZE, count - 1)];
        mine = combine(mine, combine(combine(combine(a), combine(b)), combine(combine(c), combine(d))));
    }
    mine = block_reduce(mine);
    if (gridDim.x == 1 && tid == 0) out[0] = mine;
    if (gridDim.x == 1) return;

    // all blocks but the last: fill the slots of this block
    constexpr unsigned long long FLAG = 1ull << 32;
    Words bits{mine};
    if (blockIdx.x < gridDim.x - 1) {
        for (unsigned int k = 0; tid == 0 && k < SLOTS; k++) slots[blockIdx.x * SLOTS + k] = FLAG | bits.word[k];
        return;
    }

    // the last block: wait for the numbers of the others, make the slots zero again, combine
    for (unsigned int block = tid; block < gridDim.x - 1; block += BLOCK_SIZE) {
        for (unsigned int k = 0; k < SLOTS; k++) {
            unsigned long long slot;
            do slot = slots[block * SLOTS + k]; while (slot < FLAG);
            slots[block * SLOTS + k] = 0;
            bits.word[k] = (unsigned int)slot;
        }
        mine = combine(mine, bits.value);
    }
    __syncthreads();  // partial[] is free again
    mine = block_reduce(mine);
    if (tid == 0) out[0] = mine;
}

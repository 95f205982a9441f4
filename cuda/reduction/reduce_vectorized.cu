// reduce_vectorized: 16-byte loads, four in flight per thread, block sums handed over in slots.
// Idea: memory is fast only while enough bytes are in flight. Each thread requests four pieces of 16 bytes before it
//   uses the first. Then each block hands its sum to the last block in an 8-byte slot that holds 4 bytes of the sum
//   and a flag: both arrive at once, so the last block only has to watch the slots.
// Fixes (reduce_last_block): one load in flight per thread, and the fence and the ticket of the last block, which cost
//   about a microsecond.
// Limit: memory bandwidth at large n; at small n, the launch and two memory latencies.
// Conditions: any n; any grid that is resident at once (a larger one relies on the order in which blocks start); in
//   starts at a multiple of 16 bytes; the block size is a multiple of 32. The slots start and end as zeros.
// Lecture: none. This rung competes with the library.
constexpr unsigned int PER_VECTOR = 16 / sizeof(T), SLOTS = sizeof(T) / 4;  // slots per block: 4 bytes in each
struct alignas(16) Vector { T element[PER_VECTOR]; };
union Words { T value; unsigned int word[SLOTS]; };

__device__ T add(Vector vector)
{
    T sum = vector.element[0];
    for (unsigned int k = 1; k < PER_VECTOR; k++) sum += vector.element[k];
    return sum;
}

// the sum of a warp's values, in lane 0
__device__ T warp_reduce(T sum)
{
#if __CUDA_ARCH__ >= 800
    if (T(1) / T(2) == T(0)) return T(__reduce_add_sync(0xffffffff, int(sum)));  // integers: one instruction
#endif
    for (unsigned int offset = 16; offset > 0; offset >>= 1) sum += __shfl_down_sync(0xffffffff, sum, offset);
    return sum;
}

// the sum of a block's values, in thread 0
__device__ T block_reduce(T sum)
{
    __shared__ T partial[32];  // one sum per warp
    unsigned int lane = threadIdx.x % 32, warp = threadIdx.x / 32;
    sum = warp_reduce(sum);
    if (lane == 0) partial[warp] = sum;
    __syncthreads();
    if (threadIdx.x > 0) return T(0);
    sum = partial[0];  // one thread adds the sums of the warps: less code than a second tree, and as fast
#pragma unroll
    for (unsigned int other = 1; other < BLOCK_SIZE / 32; other++) sum += partial[other];
    return sum;
}

extern "C" __global__ void reduce_vectorized(const T *in, T *out, unsigned int n, volatile unsigned long long *slots)
{
    const Vector *vectors = reinterpret_cast<const Vector *>(in);
    unsigned int tid = threadIdx.x, count = n / PER_VECTOR;
    unsigned int i = blockIdx.x * (4 * BLOCK_SIZE) + tid;

    // each thread adds one element of the tail, then four vectors at a time, zeros past the end
    T sum = (i < n % PER_VECTOR) ? in[n - 1 - i] : T(0);
    for (; i < count; i += 4 * BLOCK_SIZE * gridDim.x) {
        Vector a = vectors[i], b{}, c{}, d{};
        if (i + BLOCK_SIZE < count) b = vectors[i + BLOCK_SIZE];
        if (i + 2 * BLOCK_SIZE < count) c = vectors[i + 2 * BLOCK_SIZE];
        if (i + 3 * BLOCK_SIZE < count) d = vectors[i + 3 * BLOCK_SIZE];
        sum += (add(a) + add(b)) + (add(c) + add(d));
    }
    sum = block_reduce(sum);
    if (gridDim.x == 1 && tid == 0) out[0] = sum;
    if (gridDim.x == 1) return;

    // all blocks but the last: fill the slots of this block
    constexpr unsigned long long FLAG = 1ull << 32;
    Words bits{sum};
    if (blockIdx.x < gridDim.x - 1) {
        for (unsigned int k = 0; tid == 0 && k < SLOTS; k++) slots[blockIdx.x * SLOTS + k] = FLAG | bits.word[k];
        return;
    }

    // the last block: wait for the sums of the others, make the slots zero again, add
    if (tid > 0) sum = T(0);
    for (unsigned int block = tid; block < gridDim.x - 1; block += BLOCK_SIZE) {
        for (unsigned int k = 0; k < SLOTS; k++) {
            unsigned long long slot;
            do slot = slots[block * SLOTS + k]; while (slot < FLAG);
            slots[block * SLOTS + k] = 0;
            bits.word[k] = (unsigned int)slot;
        }
        sum += bits.value;
    }
    __syncthreads();  // partial[] is free again
    sum = block_reduce(sum);
    if (tid == 0) out[0] = sum;
}

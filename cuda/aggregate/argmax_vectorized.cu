// argmax_vectorized: the largest of n numbers and its place, 16-byte loads, four in flight per thread, single pass.
// Idea: the fastest maximum, which looks up a place only for a new maximum. A thread finds the largest of 16 numbers
//   that arrive together; it looks for the place only if that number is a new maximum, which is rarer with every
//   round. Warps compare pairs by shuffles, and each block hands its pair to the last one in slots of 4 bytes and a
//   flag.
// Fixes (argmax_tree): one word in flight per thread, a place that is carried through every comparison, and the second
//   launch.
// Limit: memory bandwidth at large n; at small n, the launch and two memory latencies.
// Conditions: any n; any resident grid (a larger one relies on the order in which blocks start); no NaN; in starts at
//   a multiple of 16 bytes; the block size is a multiple of 32. The slots start and end as zeros. out as in
//   argmax_tree.
// Lecture: none. This rung competes with the library.
constexpr unsigned int PER_VECTOR = 16 / sizeof(T), SLOTS = sizeof(T) / 4 + 1;  // slots per block: 4 bytes in each
struct alignas(16) Vector { T element[PER_VECTOR]; };
struct Pair { T number; unsigned int place; };
union Words { Pair pair; unsigned int word[sizeof(Pair) / 4]; };  // its first SLOTS words hold all of it

__device__ T largest_of(Vector vector)
{
    T largest = vector.element[0];
    for (unsigned int k = 1; k < PER_VECTOR; k++) largest = max(largest, vector.element[k]);
    return largest;
}

// the better pair: the larger number, of equal ones the first
__device__ Pair best(Pair a, Pair b)
{
    return (b.number > a.number || (b.number == a.number && b.place < a.place)) ? b : a;
}

// the first of a vector's numbers that exceeds all earlier ones
__device__ void search(Vector vector, unsigned int i, Pair &mine)
{
    for (unsigned int k = 0; k < PER_VECTOR; k++)
        if (vector.element[k] > mine.number) mine = {vector.element[k], i * PER_VECTOR + k};
}

// the best of a block's pairs, in thread 0
__device__ Pair block_reduce(Pair mine)
{
    __shared__ Pair partial[32];  // one pair per warp
    unsigned int lane = threadIdx.x % 32, warp = threadIdx.x / 32;
    for (unsigned int offset = 16; offset > 0; offset >>= 1)
        mine = best(mine, {__shfl_down_sync(0xffffffff, mine.number, offset),
                           __shfl_down_sync(0xffffffff, mine.place, offset)});
    if (lane == 0) partial[warp] = mine;
    __syncthreads();
    if (threadIdx.x > 0) return mine;
#pragma unroll
    for (unsigned int other = 1; other < BLOCK_SIZE / 32; other++) mine = best(mine, partial[other]);
    return mine;
}

extern "C" __global__ void __launch_bounds__(BLOCK_SIZE)
argmax_vectorized(const T *in, double *out, unsigned int n, volatile unsigned long long *slots)
{
    const Vector *vectors = reinterpret_cast<const Vector *>(in);
    unsigned int tid = threadIdx.x, count = n / PER_VECTOR;
    unsigned int i = blockIdx.x * (4 * BLOCK_SIZE) + tid, end = i < n % PER_VECTOR ? n - 1 - i : 0;

    // each thread compares four vectors at a time, past the end the last one, then one element of the tail
    Pair mine{in[0], 0};
    for (; i < count; i += 4 * BLOCK_SIZE * gridDim.x) {
        unsigned int ib = min(i + BLOCK_SIZE, count - 1), ic = min(i + 2 * BLOCK_SIZE, count - 1),
                     id = min(i + 3 * BLOCK_SIZE, count - 1);
        Vector a = vectors[i], b = vectors[ib], c = vectors[ic], d = vectors[id];
        T largest = max(max(largest_of(a), largest_of(b)), max(largest_of(c), largest_of(d)));
        if (largest > mine.number) {
            search(a, i, mine);
            search(b, ib, mine);
            search(c, ic, mine);
            search(d, id, mine);
        }
    }
    mine = best(mine, {in[end], end});
    mine = block_reduce(mine);
    if (gridDim.x == 1 && tid == 0) out[0] = mine.number, out[1] = mine.place;
    if (gridDim.x == 1) return;

    // all blocks but the last: fill the slots of this block
    constexpr unsigned long long FLAG = 1ull << 32;
    Words bits{mine};
    if (blockIdx.x < gridDim.x - 1) {
        for (unsigned int k = 0; tid == 0 && k < SLOTS; k++) slots[blockIdx.x * SLOTS + k] = FLAG | bits.word[k];
        return;
    }

    // the last block: wait for the pairs of the others, make the slots zero again, compare
    for (unsigned int block = tid; block < gridDim.x - 1; block += BLOCK_SIZE) {
        for (unsigned int k = 0; k < SLOTS; k++) {
            unsigned long long slot;
            do slot = slots[block * SLOTS + k]; while (slot < FLAG);
            slots[block * SLOTS + k] = 0;
            bits.word[k] = (unsigned int)slot;
        }
        mine = best(mine, bits.pair);
    }
    __syncthreads();  // partial[] is free again
    mine = block_reduce(mine);
    if (tid == 0) out[0] = mine.number, out[1] = mine.place;
}

// trapezoid_one_launch: a grid stride, sums in registers, warp shuffles, block sums handed over to the last block.
// Idea: as many blocks as are resident at once; their threads stride over the points by the width of the grid and keep
//   their sums in registers. The block sums reach the last block in 8-byte slots that hold 4 bytes of a sum and a flag:
//   both arrive at once, so the last block only has to watch the slots. Sine and cosine of an angle are evaluated
//   together, and h is a factor of the sum.
// Fixes (trapezoid_sequential): short-lived blocks with one point per thread, a barrier in every step of the tree, and
//   the second launch.
// Limit: double-precision arithmetic at large n: sine and cosine. At small n, the launch.
// Conditions: n >= 2 points; any grid that is resident at once (a larger one relies on the order in which blocks
//   start); the block size is a multiple of 32. The slots start and end as zeros.
// Lecture: none: after Cooper 2014, "Divergent Branch: count differently".
constexpr unsigned int SLOTS = sizeof(T) / 4;  // slots per block: 4 bytes in each
union Words { T value; unsigned int word[SLOTS]; };

static __device__ T f(T x)
{
    T g = 2. + x * (-1. + x * (0.5 - x * 0.2));  // Horner form
    T sine, cosine;
    sincos(g, &sine, &cosine);
    return sine + 2 * cosine;
}

// the sum of a block's values, in thread 0
static __device__ T block_reduce(T sum)
{
    __shared__ T partial[32];  // one sum per warp
    unsigned int lane = threadIdx.x % 32, warp = threadIdx.x / 32;
    for (unsigned int offset = 16; offset > 0; offset >>= 1) sum += __shfl_down_sync(0xffffffff, sum, offset);
    if (lane == 0) partial[warp] = sum;
    __syncthreads();
    if (threadIdx.x > 0) return T(0);
    sum = partial[0];  // one thread adds the sums of the warps: less code than a second tree, and as fast
    for (unsigned int other = 1; other < BLOCK_SIZE / 32; other++) sum += partial[other];
    return sum;
}

extern "C" __global__ void __launch_bounds__(BLOCK_SIZE)
trapezoid_one_launch(T *out, T a, T b, unsigned int n, volatile unsigned long long *slots)
{
    unsigned int tid = threadIdx.x;
    T h = (b - a) / (n - 1);

    // each thread evaluates as many points as necessary; the two ends count half
    T sum = T(0);
    for (unsigned int i = blockIdx.x * BLOCK_SIZE + tid; i < n; i += BLOCK_SIZE * gridDim.x) {
        T value = f(a + i * h);
        sum += (i == 0 || i == n - 1) ? value / 2 : value;
    }
    sum = block_reduce(sum);

    // all blocks but the last: fill the slots of this block
    constexpr unsigned long long FLAG = 1ull << 32;
    Words bits{sum};
    if (blockIdx.x < gridDim.x - 1) {
        for (unsigned int k = 0; tid == 0 && k < SLOTS; k++) slots[blockIdx.x * SLOTS + k] = FLAG | bits.word[k];
        return;
    }

    // the last block: wait for the sums of the others, make the slots zero again, add
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
    if (tid == 0) out[0] = sum * h;
}

// reduce_vectorized: 16-byte loads, four in flight per thread, last block done.
// Idea: memory is fast only when enough bytes are on their way. A thread loads 16 bytes at a time, and asks for four
//   such pieces before it uses the first. Warp 0 alone draws the ticket and adds the block sums.
// Fixes: one element in flight per thread. One load instruction now brings four ints, and the loop runs 16 times less.
// Limit: the memory itself at large n. At small n the launch, one trip to memory and the ticket.
// Conditions: any n and any grid size; in starts at a multiple of 16 bytes; the block size is a multiple of 32. One
//   block needs no ticket; otherwise the ticket is zero before the first launch.
// Lecture: none. It is the rung that has to beat the library.
struct alignas(16) Vector { T element[16 / sizeof(T)]; };

__device__ T add(Vector vector)
{
    T sum = vector.element[0];
    for (unsigned int k = 1; k < 16 / sizeof(T); k++) sum += vector.element[k];
    return sum;
}

// the sum of a warp's values, in lane 0
__device__ T warp_reduce(T sum)
{
    constexpr bool is_integer = T(1) / T(2) == T(0);
#if __CUDA_ARCH__ >= 800
    if (is_integer) return T(__reduce_add_sync(0xffffffff, int(sum)));  // one instruction
#endif
    for (unsigned int offset = 16; offset > 0; offset >>= 1)
        sum += __shfl_down_sync(0xffffffff, sum, offset);
    return sum;
}

extern "C" __global__ void reduce_vectorized(const T *in, T *out, unsigned int n, unsigned int *ticket)
{
    __shared__ T partial[32];  // one sum per warp
    const Vector *vectors = reinterpret_cast<const Vector *>(in);
    unsigned int count = n / (16 / sizeof(T)), rest = n % (16 / sizeof(T));
    unsigned int tid = threadIdx.x, lane = tid % 32, warp = tid / 32;
    unsigned int i = blockIdx.x * BLOCK_SIZE + tid;
    unsigned int grid_stride = BLOCK_SIZE * gridDim.x;

    // each thread adds four vectors at a time, then up to three, and one element of the ragged end
    T sum = (i < rest) ? in[n - 1 - i] : T(0);
    for (; i + 3 * grid_stride < count; i += 4 * grid_stride) {
        Vector a = vectors[i], b = vectors[i + grid_stride];
        Vector c = vectors[i + 2 * grid_stride], d = vectors[i + 3 * grid_stride];
        sum += (add(a) + add(b)) + (add(c) + add(d));
    }
    Vector a{}, b{}, c{};
    if (i < count) a = vectors[i];
    if (i + grid_stride < count) b = vectors[i + grid_stride];
    if (i + 2 * grid_stride < count) c = vectors[i + 2 * grid_stride];
    sum = warp_reduce(sum + add(a) + add(b) + add(c));
    if (lane == 0) partial[warp] = sum;
    __syncthreads();

    // hereafter, just warp 0: reduce the sums of the warps, write the sum of this block, draw a ticket
    if (warp > 0) return;
    sum = warp_reduce((lane < BLOCK_SIZE / 32) ? partial[lane] : T(0));
    unsigned int drawn = 0;
    if (lane == 0) {
        out[blockIdx.x] = sum;
        if (gridDim.x > 1) { __threadfence(); drawn = atomicInc(ticket, gridDim.x - 1); }
    }
    if (gridDim.x == 1 || __shfl_sync(0xffffffff, drawn, 0) < gridDim.x - 1) return;

    // the last block: reduce the sums of the blocks
    sum = T(0);
#pragma unroll 8
    for (unsigned int block = lane; block < gridDim.x; block += 32) sum += __ldcg(&out[block]);
    sum = warp_reduce(sum);
    if (lane == 0) out[0] = sum;
}

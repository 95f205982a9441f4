// atomic_add_aggregated: out[i % ADDRESSES] += in[i], added up in registers and in the block first.
// Idea: only blocks need an atomic between them. The grid strides by a multiple of ADDRESSES, so a thread meets the
//   same addresses in every round and adds up their numbers in registers, 16 bytes at a time. If threads of a block
//   share an address, a tree in shared memory adds their sums until one is left for each address.
// Fixes (atomic_add_cas): one atomic per element, and the queue of atomics at each address: one per block and address
//   is left.
// Limit: memory bandwidth at large n; with many addresses, the remaining atomics.
// Conditions: any n; ADDRESSES and the block size are powers of two; in starts at a multiple of 16 bytes; out is zero
//   before. If the grid takes more than one round, a round covers a multiple of ADDRESSES elements.
// Lecture: none: after Crovella 2020, "Warp shuffle tips and tricks": aggregate, then one atomic.
constexpr unsigned int PER_VECTOR = 16 / sizeof(T), TILE = BLOCK_SIZE * PER_VECTOR;
struct alignas(16) Vector { T element[PER_VECTOR]; };

extern "C" __global__ void __launch_bounds__(BLOCK_SIZE)
atomic_add_aggregated(const T *in, T *out, unsigned int n)
{
    __shared__ Vector places[BLOCK_SIZE];  // the sums of this block, place by place
    T *sums = places[0].element;
    const Vector *vectors = reinterpret_cast<const Vector *>(in);
    unsigned int tid = threadIdx.x, stride = BLOCK_SIZE * gridDim.x;

    // each thread adds vectors a round of the grid apart, four of them in flight, place by place; then the rest
    Vector sum{};
    unsigned int i = blockIdx.x * BLOCK_SIZE + tid, count = n / PER_VECTOR;
    for (; i + 3 * stride < count; i += 4 * stride) {
        Vector a = vectors[i], b = vectors[i + stride], c = vectors[i + 2 * stride], d = vectors[i + 3 * stride];
        for (unsigned int k = 0; k < PER_VECTOR; k++)
            sum.element[k] += (a.element[k] + b.element[k]) + (c.element[k] + d.element[k]);
    }
    for (; i < count; i += stride) {
        Vector a = vectors[i];
        for (unsigned int k = 0; k < PER_VECTOR; k++) sum.element[k] += a.element[k];
    }
    places[tid] = sum;
    __syncthreads();

    // add the places that share an address, until ADDRESSES are left
    for (unsigned int half = TILE / 2; half >= ADDRESSES; half >>= 1) {
        for (unsigned int k = tid; k < half; k += BLOCK_SIZE) sums[k] += sums[k + half];
        __syncthreads();
    }

    // an atomic for each place that is left, and for each element of the tail
    for (unsigned int k = tid; k < min(TILE, ADDRESSES); k += BLOCK_SIZE)
        atomicAdd(&out[(blockIdx.x * TILE + k) % ADDRESSES], sums[k]);
    unsigned int last = n - 1 - tid;
    if (blockIdx.x == 0 && tid < n % PER_VECTOR) atomicAdd(&out[last % ADDRESSES], in[last]);
}

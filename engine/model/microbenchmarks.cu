// Small kernels that each measure one constant of the model. A chain of dependent operations gives a latency: one warp,
// cycles by clock64(). Independent operations of many warps give a throughput: cycles of the SM, or time of the GPU.
#define CHAIN(name, setup, step, result)                                                              \
    extern "C" __global__ void name(long long *cycles, unsigned *out, unsigned seed, int n)           \
    {                                                                                                 \
        setup;                                                                                        \
        long long start = clock64();                                                                  \
        for (int i = 0; i < n; ++i) {                                                                 \
            step; step; step; step; step; step; step; step;                                           \
        }                                                                                             \
        long long stop = clock64();                                                                   \
        if (threadIdx.x == 0) cycles[blockIdx.x] = stop - start;                                      \
        out[blockIdx.x * blockDim.x + threadIdx.x] = (unsigned)(result);                              \
    }

CHAIN(chain_alu, unsigned x = seed + threadIdx.x, x = x * seed + 3u, x)
CHAIN(chain_fp64, double x = seed, x = x * 1.0000001 + 0.5, x)
CHAIN(chain_special, float x = seed + 0.5f, asm volatile("ex2.approx.ftz.f32 %0, %0;" : "+f"(x)), x)
CHAIN(chain_divide, unsigned x = ~seed, x = 0xF0000000u / (x | 1u), x)
CHAIN(chain_shuffle, unsigned x = threadIdx.x, x = __shfl_xor_sync(~0u, x, 1) , x)
CHAIN(chain_barrier, , __syncthreads(), seed)
CHAIN(chain_shared, __shared__ unsigned s[256]; for (int i = threadIdx.x; i < 256; i += blockDim.x) s[i] = (i + 32) & 255;
      __syncthreads(); volatile unsigned *v = s; unsigned x = threadIdx.x & 31, x = v[x], x)
CHAIN(chain_shared_atomic, __shared__ unsigned s[64]; if (threadIdx.x < 64) s[threadIdx.x] = 0; __syncthreads();
      unsigned x = threadIdx.x & 31, x = atomicAdd(&s[threadIdx.x & 31], x) & 31, x)

__constant__ unsigned table_of_words[2048];
CHAIN(chain_constant, unsigned x = seed & 15, x = table_of_words[x], x)
CHAIN(passes_constant, unsigned x = seed & 31; unsigned lane = 32 * (threadIdx.x & 31),
      x = (table_of_words[lane + (x & 31)] + 1) & 31, x)

// One multiply-add in a loop that is not unrolled.
extern "C" __global__ void chain_loop(long long *cycles, unsigned *out, unsigned seed, int n)
{
    unsigned x = seed + threadIdx.x;
    long long start = clock64();
#pragma unroll 1
    for (int i = 0; i < 8 * n; ++i) x = x * seed + 3u;
    long long stop = clock64();
    if (threadIdx.x == 0) cycles[blockIdx.x] = stop - start;
    out[threadIdx.x] = x;
}

// A chase through memory: next[] holds byte offsets of the next element.
extern "C" __global__ void chase(long long *cycles, unsigned *out, const unsigned *next, unsigned start_at, int n, int level)
{
    unsigned at = start_at;
    if (level == 1)  // once before, so everything is in the L1 cache
        for (int i = 0; i < n; ++i) at = __ldca(next + at);
    long long start = clock64();
    if (level == 1)
        for (int i = 0; i < n; ++i) at = __ldca(next + at);
    else
        for (int i = 0; i < n; ++i) at = __ldcg(next + at);
    long long stop = clock64();
    cycles[0] = stop - start;
    out[0] = at;
}

extern "C" __global__ void chain_atomic(long long *cycles, unsigned *out, unsigned *at, int n)
{
    unsigned x = 0;
    long long start = clock64();
    for (int i = 0; i < n; ++i) x = atomicAdd(at + (x & 1023) * 32, x);
    long long stop = clock64();
    cycles[0] = stop - start;
    out[0] = x;
}

// Throughputs of one SM: 8 independent operations of each thread in each pass.
#define RATE(name, type, first, step)                                                                 \
    extern "C" __global__ void name(long long *cycles, unsigned *out, unsigned seed, int n)           \
    {                                                                                                 \
        type x[8];                                                                                    \
        for (int k = 0; k < 8; ++k) x[k] = (type)(first + k);                                         \
        __syncthreads();                                                                              \
        long long start = clock64();                                                                  \
        for (int i = 0; i < n; ++i) {                                                                 \
            _Pragma("unroll") for (int k = 0; k < 8; ++k) step;                                       \
        }                                                                                             \
        __syncthreads();                                                                              \
        long long stop = clock64();                                                                   \
        type sum = 0;                                                                                 \
        for (int k = 0; k < 8; ++k) sum += x[k];                                                      \
        if (threadIdx.x == 0) cycles[blockIdx.x] = stop - start;                                      \
        out[blockIdx.x * blockDim.x + threadIdx.x] = (unsigned)sum;                                   \
    }

RATE(rate_alu, unsigned, seed, x[k] = x[k] * seed + 3u)
RATE(rate_fp64, double, seed, x[k] = x[k] * 1.0000001 + 0.5)
RATE(rate_special, float, seed, asm volatile("ex2.approx.ftz.f32 %0, %0;" : "+f"(x[k])))
RATE(rate_divide, unsigned, seed, x[k] = 0xF0000000u / (x[k] | 1u))
RATE(rate_shuffle, unsigned, threadIdx.x, x[k] = __shfl_xor_sync(~0u, x[k], 1))

extern "C" __global__ void rate_shared(long long *cycles, unsigned *out, unsigned stride, int n)
{
    __shared__ unsigned s[8192];
    for (int i = threadIdx.x; i < 8192; i += blockDim.x) s[i] = 0;
    __syncthreads();
    volatile unsigned *v = s;
    unsigned sum = 0, base = threadIdx.x * stride;
    long long start = clock64();
    for (int i = 0; i < n; ++i) {
#pragma unroll
        for (int k = 0; k < 8; ++k) sum += v[(base + 32 * k) & 8191];
    }
    __syncthreads();
    long long stop = clock64();
    if (threadIdx.x == 0) cycles[blockIdx.x] = stop - start;
    out[blockIdx.x * blockDim.x + threadIdx.x] = sum;
}

extern "C" __global__ void rate_shared_atomic(long long *cycles, unsigned *out, unsigned mask, int n)
{
    __shared__ unsigned s[1024];
    s[threadIdx.x] = 0;
    __syncthreads();
    long long start = clock64();
    for (int i = 0; i < n; ++i) {
#pragma unroll
        for (int k = 0; k < 8; ++k) atomicMax(&s[threadIdx.x & mask], (unsigned)(i + k + threadIdx.x));
    }
    __syncthreads();
    long long stop = clock64();
    if (threadIdx.x == 0) cycles[blockIdx.x] = stop - start;
    out[blockIdx.x * blockDim.x + threadIdx.x] = s[threadIdx.x & mask];
}

// Loads that hit L2. `words`: a power of two.
extern "C" __global__ void rate_l2(long long *cycles, unsigned *out, const unsigned *data, unsigned words, int n)
{
    unsigned sum = 0, at = blockIdx.x * blockDim.x + threadIdx.x;
    unsigned step = blockDim.x * gridDim.x;
    long long start = 0;
    for (int pass = 0; pass < 2; ++pass) {  // the first pass warms the caches
        unsigned here = at;
        __syncthreads();
        start = clock64();
        for (int i = 0; i < n; ++i) {
            unsigned part[8];
#pragma unroll
            for (int k = 0; k < 8; ++k) {
                unsigned place = (here + k * step) & (words - 1);
                part[k] = __ldcg(data + place);
            }
#pragma unroll
            for (int k = 0; k < 8; ++k) sum += part[k];
            here += 8 * step;
        }
        __syncthreads();
    }
    long long stop = clock64();
    if (threadIdx.x == 0) cycles[blockIdx.x] = stop - start;
    out[blockIdx.x * blockDim.x + threadIdx.x] = sum;
}

extern "C" __global__ void rate_lines(long long *cycles, unsigned *out, const unsigned *data, unsigned stride, int n)
{
    unsigned sum = 0, lane = threadIdx.x & 31, warp = threadIdx.x >> 5;
    unsigned apart = stride == 1 ? 1024 : 1;  // so a warp's neighbouring words stay in one line
    const unsigned *own = data + lane * stride + warp * (stride == 1 ? 32 : 1);
    long long start = 0;
    for (int pass = 0; pass < 2; ++pass) {
        __syncthreads();
        start = clock64();
        for (int i = 0; i < n; ++i) {
#pragma unroll
            for (int k = 0; k < 8; ++k) sum += __ldca(own + ((k + i) & 7) * apart);
        }
        __syncthreads();
    }
    long long stop = clock64();
    if (threadIdx.x == 0) cycles[blockIdx.x] = stop - start;
    out[blockIdx.x * blockDim.x + threadIdx.x] = sum;
}

// Stores of all SMs to the same addresses again and again, `stride` words apart.
extern "C" __global__ void rate_store(unsigned *out, unsigned stride, int n)
{
    unsigned at = (blockIdx.x * blockDim.x + threadIdx.x) * stride;
    for (int i = 0; i < n; ++i) *(volatile unsigned *)(out + at) = i;
}

// Atomics of the whole GPU. mode 0: one lane of each warp at one address; 1: all lanes at one address, none combined;
// 2: floats at one address; 3: all lanes in 256 bytes; 4: all lanes at neighbouring addresses, each once; 5: the same as
// exchanges, whose results come back; 6: the same as compare-and-swaps.
extern "C" __global__ void rate_atomic(unsigned *at, float *floats, int n, int mode)
{
    unsigned id = blockIdx.x * blockDim.x + threadIdx.x, found = 0;
    for (int i = 0; i < n; ++i) {
        if (mode == 0) {
            if ((threadIdx.x & 31) == 0) atomicAdd(at, 1u);
        } else if (mode == 1)
            atomicExch(at + (id >> 31), id + i);
        else if (mode == 2)
            atomicAdd(floats + (id >> 31), 1.0f + i);
        else if (mode == 3)
            atomicAdd(at + ((id + i) & 63), 1u + i);
        else {
            unsigned *own = at + ((id + i * gridDim.x * blockDim.x) & ((1u << 22) - 1));
            if (mode == 4)
                atomicAdd(own, 1u + i);
            else if (mode == 5)
                found += atomicExch(own, 1u + i);
            else
                found += atomicCAS(own, 1u + i, (unsigned)i);
        }
    }
    if (found == 0xDEADBEEFu) floats[1] = 1.0f;  // keeps the results
}

extern "C" __global__ void empty(int n) {}

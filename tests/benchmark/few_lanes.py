"""Kernels of courses and benchmarks with few threads, short steps or arrays of their own.

NumPy works on all lanes of an instruction at once, so with few lanes the cost is that of the calls.
"""

from __future__ import annotations

from tests.benchmark.student_kernels import StudentKernel

FLASH = """extern "C" __global__ void f(const float *in, float *out, unsigned int n) {
    const int d = 32, b = 32;  // one warp: 32 rows of queries
    __shared__ float q[b * d], k[b * d], v[b * d], s[b * b];
    int t = threadIdx.x;
    const float *keys = in + n * d, *values = in + 2 * n * d;
    for (int i = 0; i < n / b; i++) {
        float most = -1e30f, sum = 0, acc[d];
        for (int x = 0; x < d; x++) { q[t * d + x] = in[(i * b + t) * d + x]; acc[x] = 0; }
        for (int j = 0; j < n / b; j++) {
            for (int x = 0; x < d; x++) {
                k[t * d + x] = keys[(j * b + t) * d + x];
                v[t * d + x] = values[(j * b + t) * d + x];
            }
            __syncthreads();
            float row = -1e30f;
            for (int y = 0; y < b; y++) {
                float one = 0;
                for (int x = 0; x < d; x++) one += q[t * d + x] * k[y * d + x];
                s[t * b + y] = one * 0.0001f;
                row = fmaxf(row, one * 0.0001f);
            }
            float now = fmaxf(most, row), scale = __expf(most - now), part = 0;
            for (int y = 0; y < b; y++) { s[t * b + y] = __expf(s[t * b + y] - now); part += s[t * b + y]; }
            sum = sum * scale + part;
            for (int x = 0; x < d; x++) {
                float one = 0;
                for (int y = 0; y < b; y++) one += s[t * b + y] * v[y * d + x];
                acc[x] = acc[x] * scale + one;
            }
            most = now;
            __syncthreads();
        }
        for (int x = 0; x < d; x++) out[(i * b + t) * d + x] = acc[x] / sum;
    }
}"""
FLASH_MINIMAL = """extern "C" __global__ void f(const float *in, float *out, unsigned int n) {
    const float *Q = in, *K = in + n * 64, *V = in + 2 * n * 64;
    float *l = out + n * 64, *m = l + n;
    int d = 64, Bc = 32, Br = 32, Tc = n / 32, Tr = n / 32, tx = threadIdx.x;
    __shared__ float sram[3 * 32 * 64 + 32 * 32];
    int tile = Bc * d;
    float *Qi = sram, *Kj = &sram[tile], *Vj = &sram[tile * 2], *S = &sram[tile * 3];
    for (int i = 0; i < Tr; i++) { m[i * 32 + tx] = -1e30f; l[i * 32 + tx] = 0; }
    for (int j = 0; j < Tc; j++) {
        for (int x = 0; x < d; x++) {
            Kj[tx * d + x] = K[tile * j + tx * d + x];
            Vj[tx * d + x] = V[tile * j + tx * d + x];
        }
        __syncthreads();
        for (int i = 0; i < Tr; i++) {
            for (int x = 0; x < d; x++) Qi[tx * d + x] = Q[tile * i + tx * d + x];
            float pm = m[Br * i + tx], pl = l[Br * i + tx], rm = -1e30f;
            for (int y = 0; y < Bc; y++) {
                float sum = 0;
                for (int x = 0; x < d; x++) sum += Qi[tx * d + x] * Kj[y * d + x];
                sum *= 0.0001f;
                S[Bc * tx + y] = sum;
                if (sum > rm) rm = sum;
            }
            float rl = 0;
            for (int y = 0; y < Bc; y++) { S[Bc * tx + y] = __expf(S[Bc * tx + y] - rm); rl += S[Bc * tx + y]; }
            float nm = max(pm, rm), nl = __expf(pm - nm) * pl + __expf(rm - nm) * rl;
            for (int x = 0; x < d; x++) {
                float pv = 0;
                for (int y = 0; y < Bc; y++) pv += S[Bc * tx + y] * Vj[y * d + x];
                float *o = &out[tile * i + tx * d + x];
                *o = (1 / nl) * (pl * __expf(pm - nm) * *o + __expf(rm - nm) * pv);
            }
            m[Br * i + tx] = nm; l[Br * i + tx] = nl;
        }
        __syncthreads();
    }
}"""
N_BODY_PLAIN = """struct Body { float x, y, z, vx, vy, vz; };
extern "C" __global__ void f(const Body *in, Body *out, unsigned int n) {
    int i = blockDim.x * blockIdx.x + threadIdx.x;
    if (i >= n) return;
    float fx = 0, fy = 0, fz = 0;
    for (int j = 0; j < n; j++) {
        float dx = in[j].x - in[i].x, dy = in[j].y - in[i].y, dz = in[j].z - in[i].z;
        float d = dx * dx + dy * dy + dz * dz + 1e-9f, r = rsqrtf(d), r3 = r * r * r;
        fx += dx * r3; fy += dy * r3; fz += dz * r3;
    }
    out[i].vx = 0.01f * fx; out[i].vy = 0.01f * fy; out[i].vz = 0.01f * fz;
}"""
MATMUL8 = """extern "C" __global__ void f(const float *in, float *out, unsigned int n) {
    const int T = %d;
    __shared__ float a[T][T], b[T][T];
    const float *A = in, *B = in + n * n;
    int row = blockIdx.y * T + threadIdx.y, col = blockIdx.x * T + threadIdx.x;
    float sum = 0;
    for (int m = 0; m < n / T; m++) {
        a[threadIdx.y][threadIdx.x] = A[row * n + m * T + threadIdx.x];
        b[threadIdx.y][threadIdx.x] = B[(m * T + threadIdx.y) * n + col];
        __syncthreads();
        for (int k = 0; k < T; k++) sum += a[threadIdx.y][k] * b[k][threadIdx.x];
        __syncthreads();
    }
    out[row * n + col] = sum;
}"""
MATMUL_NAIVE = """extern "C" __global__ void f(const float *in, float *out, unsigned int n) {
    const float *A = in, *B = in + n * n;
    int row = blockIdx.y * blockDim.y + threadIdx.y, col = blockIdx.x * blockDim.x + threadIdx.x;
    if (row < n && col < n) {
        float sum = 0;
        for (int k = 0; k < n; k++) sum += A[row * n + k] * B[k * n + col];
        out[row * n + col] = sum;
    }
}"""
LOOKBACK = """#include <cuda/atomic>
__device__ unsigned int ticket;
__device__ unsigned long long states[4096];
extern "C" __global__ void f(const int *in, int *out, unsigned int n) {
    __shared__ int s[128]; __shared__ unsigned int tile; __shared__ int before;
    int t = threadIdx.x;
    if (t == 0) tile = atomicAdd(&ticket, 1u);
    __syncthreads();
    int mine[4], sum = 0, base = tile * 512 + t * 4;
    for (int i = 0; i < 4; i++) { mine[i] = base + i < n ? in[base + i] : 0; sum += mine[i]; mine[i] = sum; }
    s[t] = sum;
    __syncthreads();
    for (int d = 1; d < 128; d *= 2) {
        int v = t >= d ? s[t - d] : 0;
        __syncthreads();
        s[t] += v;
        __syncthreads();
    }
    if (t == 0) {
        int total = s[127];
        cuda::atomic_ref<unsigned long long, cuda::thread_scope_device> own(states[tile]);
        own.store((tile ? 1ull : 2ull) << 32 | (unsigned)total, cuda::memory_order_release);
        int prefix = 0;
        for (int look = (int)tile - 1; look >= 0; ) {
            cuda::atomic_ref<unsigned long long, cuda::thread_scope_device> other(states[look]);
            unsigned long long word = other.load(cuda::memory_order_acquire);
            if (word >> 32 == 0) continue;
            prefix += (int)word;
            if (word >> 32 == 2) break;
            look--;
        }
        if (tile) own.store(2ull << 32 | (unsigned)(prefix + total), cuda::memory_order_release);
        before = prefix;
    }
    __syncthreads();
    int add = before + (t ? s[t - 1] : 0);
    for (int i = 0; i < 4; i++) if (base + i < n) out[base + i] = add + mine[i];
}"""
RADIX = """__device__ volatile unsigned int status[1024][16];
__device__ unsigned int ticket;
extern "C" __global__ void f(const unsigned int *in, unsigned int *out, unsigned int n) {
    __shared__ unsigned int counts[4][16], starts[16], local[16], tile;
    unsigned int t = threadIdx.x, warp = t / 32, lane = t % 32;
    if (t == 0) tile = atomicAdd(&ticket, 1);
    if (t < 64) counts[t / 16][t % 16] = 0;
    __syncthreads();
    unsigned int keys[4], ranks[4];
    for (int i = 0; i < 4; i++) {
        keys[i] = in[tile * 512 + warp * 128 + i * 32 + lane];
        unsigned int digit = keys[i] & 15, same = ~0u;
        for (int b = 0; b < 4; b++) {
            unsigned int set = __ballot_sync(~0u, digit >> b & 1);
            same &= digit >> b & 1 ? set : ~set;
        }
        unsigned int rank = __popc(same & ((1u << lane) - 1)), before = counts[warp][digit];
        __syncwarp();
        if (rank == 0) counts[warp][digit] = before + __popc(same);
        __syncwarp();
        ranks[i] = before + rank;
    }
    __syncthreads();
    if (t < 16) {
        unsigned int sum = 0;
        for (int w = 0; w < 4; w++) { unsigned int c = counts[w][t]; counts[w][t] = sum; sum += c; }
        local[t] = sum;
        status[tile][t] = (tile ? 1u : 2u) << 30 | sum;
        __threadfence();
        unsigned int prefix = 0;
        for (int look = (int)tile - 1; look >= 0; ) {
            unsigned int word = status[look][t];
            if (word >> 30 == 0) continue;
            prefix += word & 0x3fffffff;
            if (word >> 30 == 2) break;
            look--;
        }
        if (tile) status[tile][t] = 2u << 30 | (prefix + sum);
        starts[t] = prefix;
    }
    __syncthreads();
    for (int i = 0; i < 4; i++) {
        unsigned int digit = keys[i] & 15;
        out[(digit * n + starts[digit] + counts[warp][digit] + ranks[i]) % n] = keys[i];
    }
}"""
LIBOR = """#define N 80
#define NMAT 40
__constant__ float delta = 0.25f;
extern "C" __global__ void f(const float *in, float *out, unsigned int npath) {
    int tid = blockDim.x * blockIdx.x + threadIdx.x;
    for (int path = tid; path < npath; path += blockDim.x * gridDim.x) {
        float L[N], z[NMAT], L_b[N];
        for (int i = 0; i < N; i++) L[i] = 0.05f;
        for (int i = 0; i < NMAT; i++) z[i] = in[i] * 0.001f;
        for (int n = 0; n < NMAT; n++) {
            float sqez = 0.5f * z[n], v = 0;
            for (int i = n + 1; i < N; i++) {
                float lam = 0.2f + 0.001f * in[i - n - 1] * 0.001f, con1 = delta * lam;
                v += con1 * L[i] / (1 + delta * L[i]);
                L[i] *= __expf(con1 * v + lam * (sqez - 0.5f * con1));
            }
        }
        float b = 1, s = 0, pay = 0;
        for (int n = NMAT; n < N; n++) { b /= 1 + delta * L[n]; s += delta * b; L_b[n] = b + s; }
        for (int n = NMAT; n < N; n++) if (L[n] > 0.05f) pay += L_b[n];
        out[path] = pay;
    }
}"""
MRIQ = """struct K { float x, y, z, phi; };
__constant__ K ck[1024];
extern "C" __global__ void f(const float *in, float *out, unsigned int n) {
    int i = blockIdx.x * blockDim.x + threadIdx.x;
    float x = in[i], y = in[i + n], z = in[i + 2 * n], re = out[i], im = out[i + n];
    for (int k = 0; k < 256; k++) {
        float e = 6.2831853f * (ck[k].x * x + ck[k].y * y + ck[k].z * z);
        re += ck[k].phi * cosf(e);
        im += ck[k].phi * sinf(e);
    }
    out[i] = re; out[i + n] = im;
}"""
CAS = """extern "C" __global__ void f(const int *in, int *out, unsigned int n) {
    int i = blockIdx.x * blockDim.x + threadIdx.x;
    int old = *out, assumed;
    do { assumed = old; old = atomicCAS(out, assumed, assumed + in[i]); } while (assumed != old);
}"""
SAXPY = """extern "C" __global__ void f(const float *in, float *out, unsigned int n) {
    unsigned int i = blockIdx.x * blockDim.x + threadIdx.x;
    if (i < n) out[i] = 2.5f * in[i] + out[i];
}"""
BFS = """extern "C" __global__ void f(const int *in, int *out, unsigned int n) {
    // one block's whole search: rows of eight random edges a node
    __shared__ int more;
    for (int v = threadIdx.x; v < n; v += blockDim.x) out[v] = v ? -1 : 0;
    __syncthreads();
    for (int level = 0; ; level++) {
        if (threadIdx.x == 0) more = 0;
        __syncthreads();
        for (int v = threadIdx.x; v < n; v += blockDim.x)
            if (out[v] == level)
                for (int e = 0; e < 2 + in[v] % 7; e++) {
                    int to = (in[v * 8 + e] * 977 + v * 31 + e) % n;
                    if (atomicCAS(&out[to], -1, level + 1) == -1) more = 1;
                }
        __syncthreads();
        if (!more) break;
        __syncthreads();
    }
}"""
SHA = """__constant__ unsigned int K[16] = {
    0x428a2f98, 0x71374491, 0xb5c0fbcf, 0xe9b5dba5, 0x3956c25b, 0x59f111f1, 0x923f82a4, 0xab1c5ed5,
    0xd807aa98, 0x12835b01, 0x243185be, 0x550c7dc3, 0x72be5d74, 0x80deb1fe, 0x9bdc06a7, 0xc19bf174};
#define ROTR(x, n) (((x) >> (n)) | ((x) << (32 - (n))))
extern "C" __global__ void f(const unsigned int *in, unsigned int *out, unsigned int n) {
    int i = blockIdx.x * blockDim.x + threadIdx.x;
    unsigned int w[64], s[8] = {
        0x6a09e667, 0xbb67ae85, 0x3c6ef372, 0xa54ff53a, 0x510e527f, 0x9b05688c, 0x1f83d9ab, 0x5be0cd19};
    for (int j = 0; j < 16; j++) w[j] = in[i * 16 + j];
    for (int j = 16; j < 64; j++) {
        unsigned int a = ROTR(w[j-15],7)^ROTR(w[j-15],18)^(w[j-15]>>3);
        unsigned int b = ROTR(w[j-2],17)^ROTR(w[j-2],19)^(w[j-2]>>10);
        w[j] = w[j-16] + a + w[j-7] + b;
    }
    unsigned int a=s[0],b=s[1],c=s[2],d=s[3],e=s[4],g=s[5],h=s[6],k=s[7];
    %s
    for (int j = 0; j < 64; j++) {
        unsigned int t1 = k + (ROTR(e,6)^ROTR(e,11)^ROTR(e,25)) + ((e&g)^(~e&h)) + K[j & 15] + w[j];
        unsigned int t2 = (ROTR(a,2)^ROTR(a,13)^ROTR(a,22)) + ((a&b)^(a&c)^(b&c));
        k=h; h=g; g=e; e=d+t1; d=c; c=b; b=a; a=t1+t2;
    }
    out[i * 8] = s[0]+a; out[i*8+1]=s[1]+b; out[i*8+2]=s[2]+c; out[i*8+3]=s[3]+d;
    out[i*8+4]=s[4]+e; out[i*8+5]=s[5]+g; out[i*8+6]=s[6]+h; out[i*8+7]=s[7]+k;
}"""
MANDEL = """extern "C" __global__ void f(const float *in, int *out, unsigned int n) {
    int x = blockIdx.x * blockDim.x + threadIdx.x, y = blockIdx.y * blockDim.y + threadIdx.y;
    float cx = -2.0f + 3.0f * x / n, cy = -1.5f + 3.0f * y / n, a = 0, b = 0;
    int k = 0;
    while (a * a + b * b < 4 && k < 256) { float s = a * a - b * b + cx; b = 2 * a * b + cy; a = s; k++; }
    out[y * n + x] = k;
}"""
STENCIL8 = """extern "C" __global__ void f(const float *in, float *out, unsigned int w) {
    __shared__ float s[10][10];
    int x = blockIdx.x * 8 + threadIdx.x, y = blockIdx.y * 8 + threadIdx.y, tx = threadIdx.x + 1, ty = threadIdx.y + 1;
    s[ty][tx] = in[y * w + x];
    if (threadIdx.x == 0) s[ty][0] = x > 0 ? in[y * w + x - 1] : 0;
    if (threadIdx.x == 7) s[ty][9] = x < w - 1 ? in[y * w + x + 1] : 0;
    if (threadIdx.y == 0) s[0][tx] = y > 0 ? in[(y - 1) * w + x] : 0;
    if (threadIdx.y == 7) s[9][tx] = y < w - 1 ? in[(y + 1) * w + x] : 0;
    __syncthreads();
    out[y * w + x] = 0.2f * (s[ty][tx] + s[ty - 1][tx] + s[ty + 1][tx] + s[ty][tx - 1] + s[ty][tx + 1]);
}"""
BITONIC = """extern "C" __global__ void f(const int *in, int *out, unsigned int n) {
    __shared__ int s[512];
    int t = threadIdx.x;
    s[t] = in[blockIdx.x * 512 + t]; s[t + 256] = in[blockIdx.x * 512 + t + 256];
    for (int size = 2; size <= 512; size *= 2)
        for (int stride = size / 2; stride > 0; stride /= 2) {
            __syncthreads();
            int p = 2 * t - (t & (stride - 1));
            bool up = (p & size) == 0;
            int a = s[p], b = s[p + stride];
            if ((a > b) == up) { s[p] = b; s[p + stride] = a; }
        }
    __syncthreads();
    out[blockIdx.x * 512 + t] = s[t]; out[blockIdx.x * 512 + t + 256] = s[t + 256];
}"""
XORSHIFT = """extern "C" __global__ void f(const float *in, int *out, unsigned int n) {
    unsigned int s = 1 + blockIdx.x * blockDim.x + threadIdx.x; int hit = 0;
    for (int k = 0; k < n; k++) {
        s ^= s << 13; s ^= s >> 17; s ^= s << 5; float x = s * 2.3283064e-10f;
        s ^= s << 13; s ^= s >> 17; s ^= s << 5; float y = s * 2.3283064e-10f;
        if (x * x + y * y <= 1) hit++;
    }
    atomicAdd(out, hit);
}"""

_ROWS = (
    ("flash, one warp", FLASH, "float32", 3 * 96 * 32, 96 * 32, 96, (1, 1, 1), (32, 1, 1)),
    ("flash minimal, one warp", FLASH_MINIMAL, "float32", 3 * 64 * 64, 64 * 64 + 256, 64, (1, 1, 1), (32, 1, 1)),
    ("n-body plain, 256", N_BODY_PLAIN, "float32", 256 * 6, 256 * 6, 256, (2, 1, 1), (128, 1, 1)),
    ("n-body plain, 1024", N_BODY_PLAIN, "float32", 1024 * 6, 1024 * 6, 1024, (4, 1, 1), (256, 1, 1)),
    ("matmul 8x8, 64", MATMUL8 % 8, "float32", 2 * 64 * 64, 64 * 64, 64, (8, 8, 1), (8, 8, 1)),
    ("matmul 16x16, 64", MATMUL8 % 16, "float32", 2 * 64 * 64, 64 * 64, 64, (4, 4, 1), (16, 16, 1)),
    ("matmul naive 4x4, 64", MATMUL_NAIVE, "float32", 2 * 64 * 64, 64 * 64, 64, (16, 16, 1), (4, 4, 1)),
    ("look-back scan", LOOKBACK, "int32", 65536, 65536, 65536, (128, 1, 1), (128, 1, 1)),
    ("look-back radix", RADIX, "int32", 32768, 32768, 32768, (64, 1, 1), (128, 1, 1)),
    ("LIBOR 4,096 paths", LIBOR, "float32", 256, 4096, 4096, (64, 1, 1), (64, 1, 1)),
    ("LIBOR 256 paths", LIBOR, "float32", 256, 256, 256, (4, 1, 1), (64, 1, 1)),
    ("MRI-Q", MRIQ, "float32", 3 * 2048, 2 * 2048, 2048, (8, 1, 1), (256, 1, 1)),
    ("CAS at one address, 2,048", CAS, "int32", 2048, 1, 2048, (8, 1, 1), (256, 1, 1)),
    ("saxpy 2^22", SAXPY, "float32", 1 << 22, 1 << 22, 1 << 22, (1 << 14, 1, 1), (256, 1, 1)),
    ("BFS one block", BFS, "int32", 8 * 2048, 2048, 2048, (1, 1, 1), (256, 1, 1)),
    ("SHA-256 unrolled", SHA % "#pragma unroll", "int32", 16 * 1024, 8 * 1024, 1024, (8, 1, 1), (128, 1, 1)),
    ("SHA-256 rolled", SHA % "#pragma unroll 1", "int32", 16 * 1024, 8 * 1024, 1024, (8, 1, 1), (128, 1, 1)),
    ("mandelbrot 128", MANDEL, "float32", 1, 128 * 128, 128, (8, 8, 1), (16, 16, 1)),
    ("mandelbrot 32", MANDEL, "float32", 1, 32 * 32, 32, (4, 4, 1), (8, 8, 1)),
    ("stencil 8x8, 128", STENCIL8, "float32", 128 * 128, 128 * 128, 128, (16, 16, 1), (8, 8, 1)),
    ("bitonic", BITONIC, "int32", 512 * 16, 512 * 16, 0, (16, 1, 1), (256, 1, 1)),
    ("monte carlo, 128", XORSHIFT, "float32", 1, 1, 500, (1, 1, 1), (128, 1, 1)),
)
FEW_LANES = tuple(StudentKernel(*row, least=20e6) for row in _ROWS)

// Bodies, signals, options, pictures.
#include <cuda_fp16.h>

__device__ float3 interact(float4 bi, float4 bj, float3 ai) {
    float3 r = make_float3(bj.x - bi.x, bj.y - bi.y, bj.z - bi.z);
    float d = r.x * r.x + r.y * r.y + r.z * r.z + 0.01f, inv = rsqrtf(d), s = bj.w * inv * inv * inv;
    ai.x += r.x * s;
    ai.y += r.y * s;
    ai.z += r.z * s;
    return ai;
}

extern "C" __global__ void nbody(const float4 *positions, float4 *acceleration, int n) {
    __shared__ float4 shared[128];
    int i = blockIdx.x * 128 + threadIdx.x;
    float4 mine = positions[i];
    float3 a = make_float3(0, 0, 0);
    for (int tile = 0; tile < n; tile += 128) {
        shared[threadIdx.x] = positions[tile + threadIdx.x];
        __syncthreads();
#pragma unroll 4
        for (int k = 0; k < 128; k++) a = interact(mine, shared[k], a);
        __syncthreads();
    }
    acceleration[i] = make_float4(a.x, a.y, a.z, 0);
}

// The same with three arrays, so that no thread loads 16 bytes at once.
extern "C" __global__ void nbody_soa(const float *x, const float *y, const float *z, float *fx, float *fy, int n) {
    __shared__ float sx[64], sy[64], sz[64];
    int i = blockIdx.x * 64 + threadIdx.x;
    float ax = 0, ay = 0;
    for (int tile = 0; tile < n / 64; tile++) {
        sx[threadIdx.x] = x[tile * 64 + threadIdx.x];
        sy[threadIdx.x] = y[tile * 64 + threadIdx.x];
        sz[threadIdx.x] = z[tile * 64 + threadIdx.x];
        __syncthreads();
        for (int j = 0; j < 64; j++) {
            float dx = sx[j] - x[i], dy = sy[j] - y[i], dz = sz[j] - z[i];
            float inv = rsqrtf(dx * dx + dy * dy + dz * dz + 1e-9f);
            ax += dx * inv * inv * inv;
            ay += dy * inv * inv * inv;
        }
        __syncthreads();
    }
    fx[i] = ax;
    fy[i] = ay;
}

struct Particle {
    float x, y, z, vx, vy, vz, mass;
};

extern "C" __global__ void particles_aos(Particle *p, int n, float dt) {
    int i = blockIdx.x * blockDim.x + threadIdx.x;
    if (i >= n) return;
    p[i].x += p[i].vx * dt;
    p[i].y += p[i].vy * dt;
    p[i].z += p[i].vz * dt;
}

struct __align__(16) Body {
    float x, y, z, m;
    double e, f;
};

extern "C" __global__ void bodies_aligned(const Body *in, Body *out, int n) {
    int i = blockIdx.x * blockDim.x + threadIdx.x;
    if (i >= n) return;
    Body b = in[i];
    b.x += b.y * b.z;
    b.e = b.f * b.m;
    out[i] = b;
}

struct Cell {
    float density, momentum[3], energy;
};

extern "C" __global__ void struct_tile(const Cell *cells, float *flux, int n) {
    __shared__ Cell s[130];
    int i = blockIdx.x * 128 + threadIdx.x, t = threadIdx.x + 1;
    if (i < n) s[t] = cells[i];
    if (threadIdx.x == 0) s[0] = cells[i > 0 ? i - 1 : 0];
    if (threadIdx.x == 127 || i == n - 1) s[t + 1] = cells[i < n - 1 ? i + 1 : n - 1];
    __syncthreads();
    if (i >= n) return;
    float sum = 0;
    for (int d = -1; d <= 1; d += 2) {
        Cell &c = s[t + d];
        float v2 = (c.momentum[0] * c.momentum[0] + c.momentum[1] * c.momentum[1] + c.momentum[2] * c.momentum[2]) / (c.density * c.density);
        sum += d * (c.energy + 0.4f * (c.energy - 0.5f * c.density * v2)) * c.momentum[0] / c.density;
    }
    flux[i] = sum;
}

extern "C" __global__ void fft_shared(const float2 *in, float2 *out) {
    __shared__ float2 s[256];
    int t = threadIdx.x;
    in += blockIdx.x * 256;
    out += blockIdx.x * 256;
    for (int i = t; i < 256; i += 128) s[__brev(i) >> 24] = in[i];
    __syncthreads();
    for (int half = 1; half < 256; half *= 2) {
        int k = t % half, a = (t / half) * 2 * half + k, b = a + half;
        float sine, cosine;
        sincosf(-3.14159265f * k / half, &sine, &cosine);
        float2 u = s[a], w = s[b], v = make_float2(w.x * cosine - w.y * sine, w.x * sine + w.y * cosine);
        s[a] = make_float2(u.x + v.x, u.y + v.y);
        s[b] = make_float2(u.x - v.x, u.y - v.y);
        __syncthreads();
    }
    for (int i = t; i < 256; i += 128) out[i] = s[i];
}

extern "C" __global__ void walsh(const float *in, float *out) {
    __shared__ float s[1024];
    in += blockIdx.x * 1024;
    out += blockIdx.x * 1024;
    for (int p = threadIdx.x; p < 1024; p += 256) s[p] = in[p];
    for (int stride = 256; stride > 0; stride >>= 2) {
        int low = threadIdx.x & (stride - 1), i0 = ((threadIdx.x - low) << 2) + low;
        int i1 = i0 + stride, i2 = i1 + stride, i3 = i2 + stride;
        __syncthreads();
        float a = s[i0], b = s[i1], c = s[i2], d = s[i3], x;
        x = a; a = a + c; c = x - c;
        x = b; b = b + d; d = x - d;
        x = a; s[i0] = a + b; s[i1] = x - b;
        x = c; s[i2] = c + d; s[i3] = x - d;
    }
    __syncthreads();
    for (int p = threadIdx.x; p < 1024; p += 256) out[p] = s[p];
}

__constant__ float dct[64] = {
    .3536f, .3536f, .3536f, .3536f, .3536f, .3536f, .3536f, .3536f, .4904f, .4157f, .2778f, .0975f, -.0975f, -.2778f, -.4157f, -.4904f,
    .4619f, .1913f, -.1913f, -.4619f, -.4619f, -.1913f, .1913f, .4619f, .4157f, -.0975f, -.4904f, -.2778f, .2778f, .4904f, .0975f, -.4157f,
    .3536f, -.3536f, -.3536f, .3536f, .3536f, -.3536f, -.3536f, .3536f, .2778f, -.4904f, .0975f, .4157f, -.4157f, -.0975f, .4904f, -.2778f,
    .1913f, -.4619f, .4619f, -.1913f, -.1913f, .4619f, -.4619f, .1913f, .0975f, -.2778f, .4157f, -.4904f, .4904f, -.4157f, .2778f, -.0975f};

extern "C" __global__ void dct_8x8(const float *in, float *out, int width) {
    __shared__ float a[64], b[64];
    int tx = threadIdx.x, ty = threadIdx.y, at = (blockIdx.y * 8 + ty) * width + blockIdx.x * 8 + tx;
    a[ty * 8 + tx] = in[at];
    __syncthreads();
    float sum = 0;
#pragma unroll
    for (int i = 0; i < 8; i++) sum += dct[ty * 8 + i] * a[i * 8 + tx];
    b[ty * 8 + tx] = sum;
    __syncthreads();
    sum = 0;
#pragma unroll
    for (int i = 0; i < 8; i++) sum += b[ty * 8 + i] * dct[tx * 8 + i];
    out[at] = sum;
}

__device__ float normal(float d) {
    float k = 1.0f / (1.0f + 0.2316419f * fabsf(d));
    float c = 0.39894228f * expf(-0.5f * d * d) * (k * (0.31938153f + k * (-0.356563782f + k * (1.781477937f + k * (-1.821255978f + k * 1.330274429f)))));
    return d > 0 ? 1.0f - c : c;
}

extern "C" __global__ void black_scholes(float2 *call, float2 *put, const float2 *price, const float2 *strike, const float2 *years, float r, float v, int n) {
    int i = blockIdx.x * blockDim.x + threadIdx.x;
    if (i >= n / 2) return;
    float c[2], p[2], s[2] = {price[i].x, price[i].y}, x[2] = {strike[i].x, strike[i].y}, t[2] = {years[i].x, years[i].y};
    for (int k = 0; k < 2; k++) {
        float root = sqrtf(t[k]), d1 = (logf(s[k] / x[k]) + (r + 0.5f * v * v) * t[k]) / (v * root), d2 = d1 - v * root;
        float n1 = normal(d1), n2 = normal(d2), e = expf(-r * t[k]);
        c[k] = s[k] * n1 - x[k] * e * n2;
        p[k] = x[k] * e * (1.0f - n2) - s[k] * (1.0f - n1);
    }
    call[i] = make_float2(c[0], c[1]);
    put[i] = make_float2(p[0], p[1]);
}

extern "C" __global__ void monte_carlo(unsigned int *hits, int samples) {
    __shared__ unsigned int s[128];
    unsigned int x = blockIdx.x * 128 + threadIdx.x + 1, inside = 0;
    for (int i = 0; i < samples; i++) {
        x ^= x << 13; x ^= x >> 17; x ^= x << 5;
        float a = (x >> 8) * (1.0f / 16777216.0f);
        x ^= x << 13; x ^= x >> 17; x ^= x << 5;
        float b = (x >> 8) * (1.0f / 16777216.0f);
        inside += a * a + b * b < 1.0f;
    }
    s[threadIdx.x] = inside;
    __syncthreads();
    if (threadIdx.x == 0) {
        unsigned int sum = 0;
        for (int i = 0; i < 128; i++) sum += s[i];
        hits[blockIdx.x] = sum;
    }
}

extern "C" __global__ void mandelbrot(uchar4 *picture, int width, int height, int most) {
    int x = blockIdx.x * blockDim.x + threadIdx.x, y = blockIdx.y * blockDim.y + threadIdx.y;
    if (x >= width || y >= height) return;
    float cr = 3.0f * x / width - 2.0f, ci = 2.0f * y / height - 1.0f, r = 0, i = 0;
    int k = 0;
    while (k < most && r * r + i * i < 4.0f) {
        float t = r * r - i * i + cr;
        i = 2 * r * i + ci;
        r = t;
        k++;
    }
    picture[y * width + x] = make_uchar4(k, k * 3, k * 7, 255);
}

extern "C" __global__ void gray(const uchar3 *rgb, unsigned char *out, int n) {
    int i = blockIdx.x * blockDim.x + threadIdx.x;
    if (i < n) out[i] = 0.299f * rgb[i].x + 0.587f * rgb[i].y + 0.114f * rgb[i].z;
}

extern "C" __global__ void saxpy_half2(const __half2 *x, __half2 *y, int n) {
    __half2 a = __float2half2_rn(2.5f);
    for (int i = blockIdx.x * blockDim.x + threadIdx.x; i < n; i += gridDim.x * blockDim.x) y[i] = __hfma2(a, x[i], y[i]);
}

extern "C" __global__ void half_tile(const __half *in, __half *out, int n) {
    __shared__ __half s[32][34];
    int x = threadIdx.x, y = threadIdx.y;
    for (int j = 0; j < 32; j += 8) s[y + j][x] = in[(blockIdx.y * 32 + y + j) * n + blockIdx.x * 32 + x];
    __syncthreads();
    for (int j = 0; j < 32; j += 8) out[(blockIdx.x * 32 + y + j) * n + blockIdx.y * 32 + x] = s[x][y + j];
}

extern "C" __global__ void half_dot(const __half2 *a, const __half2 *b, float *out, int n) {
    __shared__ __half2 s[256];
    __half2 sum = __float2half2_rn(0.0f);
    for (int i = blockIdx.x * 256 + threadIdx.x; i < n; i += gridDim.x * 256) sum = __hfma2(a[i], b[i], sum);
    s[threadIdx.x] = sum;
    __syncthreads();
    for (int o = 128; o > 0; o /= 2) {
        if (threadIdx.x < o) s[threadIdx.x] = __hadd2(s[threadIdx.x], s[threadIdx.x + o]);
        __syncthreads();
    }
    if (threadIdx.x == 0) out[blockIdx.x] = __low2float(s[0]) + __high2float(s[0]);
}

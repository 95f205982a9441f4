// Moving data: strides, gathers, wide words, bank conflicts, asynchronous copies.
#include <cuda_pipeline.h>

extern "C" __global__ void copy_strided(const float *in, float *out, int stride, int n) {
    int i = (blockIdx.x * blockDim.x + threadIdx.x) * stride;
    if (i < n) out[i] = in[i];
}

extern "C" __global__ void copy_offset(const double *in, double *out, int offset, int n) {
    int i = blockIdx.x * blockDim.x + threadIdx.x + offset;
    if (i < n) out[i] = in[i] + 1.0;
}

extern "C" __global__ void copy_double2(const double2 *in, double2 *out, int n) {
    for (int i = blockIdx.x * blockDim.x + threadIdx.x; i < n; i += gridDim.x * blockDim.x) out[i] = in[i];
}

extern "C" __global__ void copy_unrolled(const float *in, float *out, int n) {
    int i = blockIdx.x * (blockDim.x * 4) + threadIdx.x;
    float a = in[i], b = in[i + blockDim.x], c = in[i + 2 * blockDim.x], d = in[i + 3 * blockDim.x];
    out[i] = a;
    out[i + blockDim.x] = b;
    out[i + 2 * blockDim.x] = c;
    out[i + 3 * blockDim.x] = d;
}

// Four neighbours a thread, one by one.
extern "C" __global__ void copy_chunks(const int *in, int *out, int n) {
    int first = (blockIdx.x * blockDim.x + threadIdx.x) * 4;
    for (int k = 0; k < 4; k++) out[first + k] = in[first + k] * 3;
}

extern "C" __global__ void gather(const float *in, const int *map, float *out, int n) {
    int i = blockIdx.x * blockDim.x + threadIdx.x;
    if (i < n) out[i] = in[map[i]];
}

extern "C" __global__ void scatter(const float *in, const int *map, float *out, int n) {
    int i = blockIdx.x * blockDim.x + threadIdx.x;
    if (i < n) out[map[i]] = in[i];
}

extern "C" __global__ void table_lookup(const unsigned char *in, const float *table, float *out, int n) {
    __shared__ float s[256];
    s[threadIdx.x] = table[threadIdx.x];
    __syncthreads();
    for (int i = blockIdx.x * 256 + threadIdx.x; i < n; i += gridDim.x * 256) out[i] = s[in[i]];
}

extern "C" __global__ void banks(const float *in, float *out, int stride) {
    __shared__ float s[1024];
    for (int i = threadIdx.x; i < 1024; i += blockDim.x) s[i] = in[i];
    __syncthreads();
    float sum = 0;
    for (int k = 0; k < 8; k++) sum += s[(threadIdx.x * stride + k) & 1023];
    out[blockIdx.x * blockDim.x + threadIdx.x] = sum;
}

extern "C" __global__ void banks_64(const double *in, double *out, int stride) {
    __shared__ double s[512];
    for (int i = threadIdx.x; i < 512; i += blockDim.x) s[i] = in[i];
    __syncthreads();
    double sum = 0;
    for (int k = 0; k < 4; k++) sum += s[(threadIdx.x * stride + k * 64) % 512];
    out[blockIdx.x * blockDim.x + threadIdx.x] = sum;
}

// Every thread reads eight neighbours that no other thread needs.
extern "C" __global__ void own_strip(const float *in, float *out) {
    __shared__ float s[128 * 8];
    for (int k = 0; k < 8; k++) s[k * 128 + threadIdx.x] = in[(blockIdx.x * 8 + k) * 128 + threadIdx.x];
    __syncthreads();
    float sum = 0, most = s[threadIdx.x * 8];
    for (int k = 0; k < 8; k++) {
        sum += s[threadIdx.x * 8 + k];
        most = fmaxf(most, s[threadIdx.x * 8 + k]);
    }
    out[blockIdx.x * 128 + threadIdx.x] = sum * most;
}

// A filter of 7 taps in a register window over shared memory, two results a thread.
extern "C" __global__ void fir(const float *in, const float *taps, float *out) {
    __shared__ float s[256 + 8], w[8];
    int t = threadIdx.x;
    s[t] = in[blockIdx.x * 256 + t];
    s[t + 128] = in[blockIdx.x * 256 + t + 128];
    if (t < 8) {
        s[256 + t] = in[blockIdx.x * 256 + 256 + t];
        w[t] = taps[t];
    }
    __syncthreads();
    float a = 0, b = 0;
#pragma unroll
    for (int k = 0; k < 7; k++) {
        a += w[k] * s[2 * t + k];
        b += w[k] * s[2 * t + k + 1];
    }
    out[blockIdx.x * 256 + 2 * t] = a;
    out[blockIdx.x * 256 + 2 * t + 1] = b;
}

extern "C" __global__ void reverse_blocks(int *data) {
    __shared__ int s[512];
    int t = threadIdx.x;
    s[t] = data[blockIdx.x * 512 + t];
    __syncthreads();
    data[blockIdx.x * 512 + t] = s[511 - t];
}

extern "C" __global__ void dynamic_index(const int *which, float *out) {
    float local[16];
    for (int k = 0; k < 16; k++) local[k] = k * 0.5f + threadIdx.x;
    int i = blockIdx.x * blockDim.x + threadIdx.x;
    for (int k = 0; k < 4; k++) local[which[4 * i + k] & 15] += 1.0f;
    out[i] = local[which[i] & 15];
}

extern "C" __global__ void async_tile(const float4 *in, float4 *out, int n) {
    __shared__ float4 s[2][128];
    int t = threadIdx.x, steps = n / 128, stage = 0;
    const float4 *mine = in + blockIdx.x * n;
    __pipeline_memcpy_async(&s[0][t], &mine[t], sizeof(float4));
    __pipeline_commit();
    float4 sum = make_float4(0, 0, 0, 0);
    for (int k = 0; k < steps; k++) {
        if (k + 1 < steps) __pipeline_memcpy_async(&s[stage ^ 1][t], &mine[(k + 1) * 128 + t], sizeof(float4));
        __pipeline_commit();
        __pipeline_wait_prior(1);
        __syncthreads();
        float4 v = s[stage][127 - t];
        sum.x += v.x;
        sum.y += v.y;
        sum.z += v.z;
        sum.w += v.w;
        __syncthreads();
        stage ^= 1;
    }
    out[blockIdx.x * 128 + t] = sum;
}

extern "C" __global__ void async_words(const float *in, float *out) {
    __shared__ float s[256 + 2];
    int t = threadIdx.x, i = blockIdx.x * 256 + t;
    __pipeline_memcpy_async(&s[t], &in[i], 4);
    if (t < 2) __pipeline_memcpy_async(&s[256 + t], &in[i + 256], 4);
    __pipeline_commit();
    __pipeline_wait_prior(0);
    __syncthreads();
    out[i] = s[t] + s[t + 1] + s[t + 2];
}

extern "C" __global__ void long_sums(const long long *in, unsigned long long *out, int n) {
    __shared__ unsigned long long s[128];
    int t = threadIdx.x;
    unsigned long long sum = 0;
    for (int i = blockIdx.x * 128 + t; i < n; i += gridDim.x * 128) sum += in[i];
    s[t] = sum;
    __syncthreads();
    for (int o = 64; o > 0; o >>= 1) {
        if (t < o) s[t] += s[t + o];
        __syncthreads();
    }
    if (t == 0) atomicAdd(out, s[0]);
}

extern "C" __global__ void shorts(const short *in, short *out, int n) {
    __shared__ short s[256];
    int t = threadIdx.x, i = blockIdx.x * 256 + t;
    s[t] = i < n ? in[i] : 0;
    __syncthreads();
    int sum = 0;
    for (int k = 0; k < 4; k++) sum += s[(t + k) & 255];
    if (i < n) out[i] = sum / 4;
}

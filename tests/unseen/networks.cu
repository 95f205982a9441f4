// Layers of neural networks.
#include <cuda_fp16.h>
#include <cooperative_groups.h>
#include <cooperative_groups/reduce.h>
namespace cg = cooperative_groups;

extern "C" __global__ void max_pool(const float *in, float *out, int channels, int height, int width) {
    int x = blockIdx.x * blockDim.x + threadIdx.x, y = blockIdx.y * blockDim.y + threadIdx.y, c = blockIdx.z;
    int w2 = width / 2, h2 = height / 2;
    if (x >= w2 || y >= h2) return;
    const float *corner = in + (c * height + 2 * y) * width + 2 * x;
    out[(c * h2 + y) * w2 + x] = fmaxf(fmaxf(corner[0], corner[1]), fmaxf(corner[width], corner[width + 1]));
}

extern "C" __global__ void im2col(const float *in, float *out, int channels, int size) {
    int n = channels * size * size;
    for (int i = blockIdx.x * blockDim.x + threadIdx.x; i < n; i += blockDim.x * gridDim.x) {
        int x = i % size, y = i / size % size, c = i / (size * size);
        float *column = out + (c * 9 * size + y) * size + x;
        for (int ky = -1; ky <= 1; ky++)
            for (int kx = -1; kx <= 1; kx++) {
                int yy = y + ky, xx = x + kx;
                *column = yy >= 0 && xx >= 0 && yy < size && xx < size ? in[(c * size + yy) * size + xx] : 0;
                column += size * size;
            }
    }
}

__constant__ float taps[2 * 3 * 9] = {0.1f, 0.2f, 0.3f, 0.4f, 0.5f, 0.6f, 0.7f, 0.8f, 0.9f};

extern "C" __global__ void conv_channels(const float *in, float *out, int size) {
    __shared__ float tile[3][18][18];
    int tx = threadIdx.x, ty = threadIdx.y, x0 = blockIdx.x * 16, y0 = blockIdx.y * 16;
    for (int c = 0; c < 3; c++)
        for (int y = ty; y < 18; y += 16)
            for (int x = tx; x < 18; x += 16) {
                int gx = x0 + x - 1, gy = y0 + y - 1;
                tile[c][y][x] = gx >= 0 && gy >= 0 && gx < size && gy < size ? in[(c * size + gy) * size + gx] : 0;
            }
    __syncthreads();
    if (x0 + tx >= size || y0 + ty >= size) return;
    for (int k = 0; k < 2; k++) {
        float sum = 0;
        for (int c = 0; c < 3; c++)
            for (int y = 0; y < 3; y++)
                for (int x = 0; x < 3; x++) sum += taps[(k * 3 + c) * 9 + y * 3 + x] * tile[c][ty + y][tx + x];
        out[(k * size + y0 + ty) * size + x0 + tx] = sum;
    }
}

extern "C" __global__ void batch_norm(const float *in, float *mean, float *variance, int batch, int channels, int area) {
    int c = blockIdx.x;
    float sum = 0, squares = 0;
    for (int i = threadIdx.x; i < batch * area; i += blockDim.x) {
        float v = in[(i / area * channels + c) * area + i % area];
        sum += v, squares += v * v;
    }
    auto warp = cg::tiled_partition<32>(cg::this_thread_block());
    sum = cg::reduce(warp, sum, cg::plus<float>());
    squares = cg::reduce(warp, squares, cg::plus<float>());
    __shared__ float2 parts[8];
    if (warp.thread_rank() == 0) parts[warp.meta_group_rank()] = make_float2(sum, squares);
    __syncthreads();
    if (threadIdx.x == 0) {
        float2 all = make_float2(0, 0);
        for (int w = 0; w < blockDim.x / 32; w++) all.x += parts[w].x, all.y += parts[w].y;
        float m = all.x / (batch * area);
        mean[c] = m, variance[c] = all.y / (batch * area) - m * m;
    }
}

extern "C" __global__ void attention_row(const float *q, const float *k, const float *v, float *out, int length) {
    __shared__ float scores[256], part[4];
    int t = threadIdx.x, row = blockIdx.x;
    float most = -1e30f;
    for (int j = t; j < length; j += 128) {
        float s = 0;
        for (int d = 0; d < 32; d += 4) {
            float4 a = *(const float4 *)(q + row * 32 + d), b = *(const float4 *)(k + j * 32 + d);
            s += a.x * b.x + a.y * b.y + a.z * b.z + a.w * b.w;
        }
        scores[j] = s;
        most = fmaxf(most, s);
    }
    for (int o = 16; o; o /= 2) most = fmaxf(most, __shfl_xor_sync(~0u, most, o));
    if (t % 32 == 0) part[t / 32] = most;
    __syncthreads();
    most = fmaxf(fmaxf(part[0], part[1]), fmaxf(part[2], part[3]));
    for (int j = t; j < length; j += 128) scores[j] = __expf(scores[j] - most);
    __syncthreads();
    if (t < 32) {
        float sum = 0, value = 0;
        for (int j = 0; j < length; j++) sum += scores[j], value += scores[j] * v[j * 32 + t];
        out[row * 32 + t] = value / sum;
    }
}

extern "C" __global__ void embedding(const int *tokens, const float4 *table, float4 *out, int n) {
    int token = blockIdx.x * blockDim.y + threadIdx.y;
    if (token < n) out[token * 16 + threadIdx.x] = table[tokens[token] * 16 + threadIdx.x];
}

extern "C" __global__ void embedding_grad(const int *tokens, const float *grad, float *table, int n) {
    int token = blockIdx.x * blockDim.y + threadIdx.y;
    if (token < n)
        for (int d = threadIdx.x; d < 48; d += 32) atomicAdd(&table[tokens[token] * 48 + d], grad[token * 48 + d]);
}

extern "C" __global__ void gelu_half2(const __half2 *in, __half2 *out, int n) {
    int i = blockIdx.x * blockDim.x + threadIdx.x;
    if (i >= n) return;
    float2 v = __half22float2(in[i]);
    v.x = 0.5f * v.x * (1 + tanhf(0.79788456f * (v.x + 0.044715f * v.x * v.x * v.x)));
    v.y = 0.5f * v.y * (1 + tanhf(0.79788456f * (v.y + 0.044715f * v.y * v.y * v.y)));
    out[i] = __float22half2_rn(v);
}

extern "C" __global__ void cross_entropy(const float *logits, const int *labels, float *loss, int rows, int classes) {
    int row = blockIdx.x * (blockDim.x / 8) + threadIdx.x / 8, lane = threadIdx.x % 8;
    if (row >= rows) return;
    unsigned int mask = 0xffu << (threadIdx.x % 32 / 8 * 8);
    float most = -1e30f, sum = 0;
    for (int c = lane; c < classes; c += 8) most = fmaxf(most, logits[row * classes + c]);
    for (int o = 4; o; o /= 2) most = fmaxf(most, __shfl_xor_sync(mask, most, o, 8));
    for (int c = lane; c < classes; c += 8) sum += expf(logits[row * classes + c] - most);
    for (int o = 4; o; o /= 2) sum += __shfl_xor_sync(mask, sum, o, 8);
    if (lane == 0) loss[row] = logf(sum) + most - logits[row * classes + labels[row]];
}

extern "C" __global__ void rope(float2 *x, int heads, int pairs) {
    int position = blockIdx.x, head = threadIdx.y, p = threadIdx.x;
    float s, c;
    __sincosf(position * exp2f(-13.3f * p / pairs), &s, &c);
    float2 v = x[(position * heads + head) * pairs + p];
    x[(position * heads + head) * pairs + p] = make_float2(v.x * c - v.y * s, v.x * s + v.y * c);
}

extern "C" __global__ void quantise(const float4 *in, char4 *out, float *scales, int groups) {
    int g = (blockIdx.x * blockDim.x + threadIdx.x) / 16, lane = threadIdx.x % 16;
    if (g >= groups) return;
    float4 v = in[g * 16 + lane];
    float most = fmaxf(fmaxf(fabsf(v.x), fabsf(v.y)), fmaxf(fabsf(v.z), fabsf(v.w)));
    for (int o = 8; o; o /= 2) most = fmaxf(most, __shfl_xor_sync(0xffffu << (threadIdx.x & 16), most, o, 16));
    float scale = most / 127;
    out[g * 16 + lane] = make_char4(rintf(v.x / scale), rintf(v.y / scale), rintf(v.z / scale), rintf(v.w / scale));
    if (lane == 0) scales[g] = scale;
}

extern "C" __global__ void matvec_int4(const unsigned int *weights, const float *x, float *y, int columns) {
    __shared__ float part[128];
    int row = blockIdx.x, t = threadIdx.x;
    float sum = 0;
    for (int w = t; w < columns / 8; w += blockDim.x) {
        unsigned int word = weights[row * (columns / 8) + w];
        for (int k = 0; k < 8; k++) sum += (int(word >> 4 * k & 15) - 8) * x[w * 8 + k];
    }
    part[t] = sum;
    __syncthreads();
    for (int s = blockDim.x / 2; s; s /= 2) {
        if (t < s) part[t] += part[t + s];
        __syncthreads();
    }
    if (t == 0) y[row] = part[0];
}

extern "C" __global__ void top_two(const float *in, int2 *out, int rows, int columns) {
    int row = (blockIdx.x * blockDim.x + threadIdx.x) / 32, lane = threadIdx.x % 32;
    if (row >= rows) return;
    float first = -1e30f, second = -1e30f;
    int a = 0, b = 0;
    for (int c = lane; c < columns; c += 32) {
        float v = in[row * columns + c];
        if (v > first) second = first, b = a, first = v, a = c;
        else if (v > second) second = v, b = c;
    }
    for (int o = 16; o; o /= 2) {
        float f = __shfl_down_sync(~0u, first, o), s = __shfl_down_sync(~0u, second, o);
        int fa = __shfl_down_sync(~0u, a, o), sb = __shfl_down_sync(~0u, b, o);
        if (f > first) {
            if (first > s) second = first, b = a;
            else second = s, b = sb;
            first = f, a = fa;
        } else if (f > second) second = f, b = fa;
    }
    if (lane == 0) out[row] = make_int2(a, b);
}

// Exercises of courses.
#include <cuda_fp16.h>
#include <cooperative_groups.h>
namespace cg = cooperative_groups;

extern "C" __global__ void row_sums_33(const float *in, float *out, int width, int rows) {
    __shared__ float part[3][33];
    int row = blockIdx.x * 3 + threadIdx.y;
    float sum = 0;
    if (row < rows)
        for (int x = threadIdx.x; x < width; x += 33) sum += in[row * width + x];
    part[threadIdx.y][threadIdx.x] = sum;
    __syncthreads();
    if (threadIdx.x == 0 && row < rows) {
        for (int k = 1; k < 33; k++) sum += part[threadIdx.y][k];
        out[row] = sum;
    }
}

extern "C" __global__ void blur_tile(const float *in, float *out, int width, int height) {
    __shared__ float tile[10][26];
    int x = blockIdx.x * 24 + threadIdx.x, y = blockIdx.y * 8 + threadIdx.y, tx = threadIdx.x + 1, ty = threadIdx.y + 1;
    auto at = [&](int cx, int cy) { return in[min(max(cy, 0), height - 1) * width + min(max(cx, 0), width - 1)]; };
    tile[ty][tx] = at(x, y);
    if (tx == 1) tile[ty][0] = at(x - 1, y);
    if (tx == 24) tile[ty][25] = at(x + 1, y);
    if (ty == 1) tile[0][tx] = at(x, y - 1);
    if (ty == 8) tile[9][tx] = at(x, y + 1);
    __syncthreads();
    if (x < width && y < height)
        out[y * width + x] = (4 * tile[ty][tx] + tile[ty][tx - 1] + tile[ty][tx + 1] + tile[ty - 1][tx] + tile[ty + 1][tx]) / 8;
}

extern "C" __global__ void knapsack_row(const int *last, int *now, int weight, int value, int capacity) {
    int c = blockIdx.x * blockDim.x + threadIdx.x;
    if (c > capacity) return;
    int best = last[c];
    if (c >= weight) best = max(best, last[c - weight] + value);
    now[c] = best;
}

extern "C" __global__ void upsample_3(const float *in, float *out, int n) {
    for (int i = blockIdx.x * blockDim.x + threadIdx.x; i < 3 * n; i += gridDim.x * blockDim.x) {
        int k = i / 3;
        float part = i % 3 / 3.0f, next = in[min(k + 1, n - 1)];
        out[i] = in[k] + part * (next - in[k]);
    }
}

extern "C" __global__ void interpolate(const float *x, const float *xs, const float *ys, float *out, int points, int n) {
    __shared__ float tx[33], ty[33];
    if (threadIdx.x < points) tx[threadIdx.x] = xs[threadIdx.x], ty[threadIdx.x] = ys[threadIdx.x];
    __syncthreads();
    int i = blockIdx.x * blockDim.x + threadIdx.x;
    if (i >= n) return;
    int low = 0, high = points - 1;
    while (high - low > 1) {
        int middle = (low + high) / 2;
        if (tx[middle] <= x[i]) low = middle;
        else high = middle;
    }
    out[i] = ty[low] + (x[i] - tx[low]) * (ty[high] - ty[low]) / (tx[high] - tx[low]);
}

extern "C" __global__ void cumulate_columns(double *a, int rows, int columns) {
    int c = blockIdx.x * blockDim.x + threadIdx.x;
    if (c >= columns) return;
    double product = 1;
    for (int r = 0; r < rows; r++) a[r * columns + c] = product *= a[r * columns + c];
}

extern "C" __global__ void triangles(const int *start, const int *to, int *out, int nodes) {
    int u = blockIdx.x * blockDim.x + threadIdx.x;
    if (u >= nodes) return;
    int found = 0;
    for (int e = start[u]; e < start[u + 1]; e++) {
        int v = to[e];
        if (v <= u) continue;
        int i = start[u], j = start[v];
        while (i < start[u + 1] && j < start[v + 1]) {
            if (to[i] == to[j]) found++, i++, j++;
            else if (to[i] < to[j]) i++;
            else j++;
        }
    }
    if (found) atomicAdd(out, found);
}

extern "C" __global__ void histogram_2d(const float2 *points, const float *weights, float *out, int n) {
    __shared__ float bins[16][16];
    for (int k = threadIdx.y * 16 + threadIdx.x; k < 256; k += 128) bins[k / 16][k % 16] = 0;
    __syncthreads();
    int i = blockIdx.x * 128 + threadIdx.y * 16 + threadIdx.x;
    if (i < n) atomicAdd(&out[(int)(points[i].x * 8) * 16 + (int)(points[i].y * 8)], weights[i]);
    else if (i < n + 50) bins[i % 16][threadIdx.y] = 1;
    __syncthreads();
    if (bins[threadIdx.y][threadIdx.x] > 0) atomicAdd(&out[threadIdx.y * 16 + threadIdx.x], bins[threadIdx.y][threadIdx.x]);
}

extern "C" __global__ void pool_groups(const float *in, float *out, int area) {
    auto tile = cg::tiled_partition<16>(cg::this_thread_block());
    int channel = blockIdx.x * (blockDim.x / 16) + threadIdx.x / 16;
    float sum = 0;
    for (int i = tile.thread_rank(); i < area; i += 16) sum += in[channel * area + i];
    for (int d = 8; d > 0; d /= 2) sum += tile.shfl_down(sum, d);
    if (tile.thread_rank() == 0) out[channel] = sum / area;
}

extern "C" __global__ void depthwise(const float *in, const float *weights, float *out, int size) {
    int half = size / 2, x = threadIdx.x, y = blockIdx.x, c = blockIdx.y;
    if (x >= half) return;
    float sum = 0;
#pragma unroll
    for (int ky = 0; ky < 3; ky++)
#pragma unroll
        for (int kx = 0; kx < 3; kx++) {
            int iy = 2 * y + ky - 1, ix = 2 * x + kx - 1;
            if (iy >= 0 && iy < size && ix >= 0 && ix < size)
                sum += in[(c * size + iy) * size + ix] * __ldg(&weights[c * 9 + ky * 3 + kx]);
        }
    out[(c * half + y) * half + x] = fmaxf(sum, 0);
}

extern "C" __global__ void gemm_half(const __half *a, const __half *b, float *c, int n) {
    __shared__ __half ta[16][16], tb[16][16];
    int x = threadIdx.x, y = threadIdx.y, row = blockIdx.y * 16 + y, column = blockIdx.x * 16 + x;
    float sum = 0;
    for (int k = 0; k < n; k += 16) {
        ta[y][x] = a[row * n + k + x];
        tb[y][x] = b[(k + y) * n + column];
        __syncthreads();
        for (int j = 0; j < 16; j++) sum += __half2float(ta[y][j]) * __half2float(tb[j][x]);
        __syncthreads();
    }
    c[row * n + column] = sum;
}

extern "C" __global__ void gemm_four(const float *a, const float *b, float *c, int n) {
    __shared__ float ta[32][36];
    __shared__ float4 tb[32][8];
    int tx = threadIdx.x, ty = threadIdx.y, row = blockIdx.y * 32 + ty, column = blockIdx.x * 32 + 4 * tx;
    float4 sum = make_float4(0, 0, 0, 0);
    for (int k = 0; k < n; k += 32) {
        *(float4 *)&ta[ty][4 * tx] = *(const float4 *)&a[row * n + k + 4 * tx];
        tb[ty][tx] = *(const float4 *)&b[(k + ty) * n + column];
        __syncthreads();
#pragma unroll 8
        for (int j = 0; j < 32; j++) {
            float v = ta[ty][j];
            float4 w = tb[j][tx];
            sum.x += v * w.x, sum.y += v * w.y, sum.z += v * w.z, sum.w += v * w.w;
        }
        __syncthreads();
    }
    *(float4 *)&c[row * n + column] = sum;
}

extern "C" __global__ void lattice_nine(const float *in, float *out, int width, int height) {
    const int cx[9] = {0, 1, 0, -1, 0, 1, -1, -1, 1}, cy[9] = {0, 0, 1, 0, -1, 1, 1, -1, -1};
    int x = blockIdx.x * blockDim.x + threadIdx.x, y = blockIdx.y;
    if (x >= width) return;
    float f[9], density = 0;
    for (int k = 0; k < 9; k++) {
        int sx = (x - cx[k] + width) % width, sy = (y - cy[k] + height) % height;
        density += f[k] = in[(k * height + sy) * width + sx];
    }
    for (int k = 0; k < 9; k++) out[(k * height + y) * width + x] = f[k] + 0.6f * (density / 9 - f[k]);
}

extern "C" __global__ void scan_long(const long long *in, long long *out) {
    __shared__ long long s[256];
    int t = threadIdx.x, base = blockIdx.x * 256;
    s[2 * t] = in[base + 2 * t], s[2 * t + 1] = in[base + 2 * t + 1];
    int offset = 1;
    for (int d = 128; d > 0; d >>= 1) {
        __syncthreads();
        if (t < d) s[offset * (2 * t + 2) - 1] += s[offset * (2 * t + 1) - 1];
        offset *= 2;
    }
    if (t == 0) s[255] = 0;
    for (int d = 1; d < 256; d *= 2) {
        offset >>= 1;
        __syncthreads();
        if (t < d) {
            long long kept = s[offset * (2 * t + 1) - 1];
            s[offset * (2 * t + 1) - 1] = s[offset * (2 * t + 2) - 1];
            s[offset * (2 * t + 2) - 1] += kept;
        }
    }
    __syncthreads();
    out[base + 2 * t] = s[2 * t], out[base + 2 * t + 1] = s[2 * t + 1];
}

extern "C" __global__ void minmax(const int *in, int *out, int n) {
    __shared__ int low, high;
    if (threadIdx.x == 0) low = 1 << 30, high = -(1 << 30);
    __syncthreads();
    for (int i = blockIdx.x * blockDim.x + threadIdx.x; i < n; i += gridDim.x * blockDim.x) {
        int v = in[i];
        if (v < low) atomicMin(&low, v);
        if (v > high) atomicMax(&high, v);
    }
    __syncthreads();
    if (threadIdx.x == 0) atomicMin(&out[0], low), atomicMax(&out[1], high);
}

extern "C" __global__ void round_robin(const int *in, int *out, unsigned *next, int queues, int n) {
    int i = blockIdx.x * blockDim.x + threadIdx.x;
    if (i >= n || in[i] % 3) return;
    unsigned queue = atomicInc(next, queues - 1);
    atomicAdd(&out[queue], in[i]);
}

extern "C" __global__ void noise(const unsigned char *order, const float *xs, float *out, int n) {
    __shared__ unsigned char p[512];
    for (int k = threadIdx.x; k < 512; k += blockDim.x) p[k] = order[k & 255];
    __syncthreads();
    int i = blockIdx.x * blockDim.x + threadIdx.x;
    if (i >= n) return;
    float x = xs[i] * 17, sum = 0, scale = 1;
    for (int octave = 0; octave < 4; octave++) {
        int cell = (int)x & 255;
        float f = x - floorf(x), a = (p[p[cell] + octave] & 15) - 7.5f, b = (p[p[cell + 1] + octave] & 15) - 7.5f;
        sum += scale * (a + f * f * (3 - 2 * f) * (b - a));
        x *= 2, scale *= 0.5f;
    }
    out[i] = sum;
}

extern "C" __global__ void segment_sums(const int *flags, const float *in, float *out, int n) {
    int i = blockIdx.x * blockDim.x + threadIdx.x, lane = threadIdx.x & 31;
    float v = i < n ? in[i] : 0;
    int head = i < n ? flags[i] : 1;
    for (int d = 1; d < 32; d *= 2) {
        float other = __shfl_up_sync(~0u, v, d);
        int closed = __shfl_up_sync(~0u, head, d);
        if (lane >= d && !head) v += other, head = closed;
    }
    if (i < n) out[i] = v;
}

extern "C" __global__ void wave_2d_loop(float *now, float *last, int width, int height, float c) {
    int stride = blockDim.x * gridDim.x;
    for (int i = blockIdx.x * blockDim.x + threadIdx.x; i < width * height; i += stride) {
        int x = i % width, y = i / width;
        if (x == 0 || y == 0 || x == width - 1 || y == height - 1) continue;
        float around = now[i - 1] + now[i + 1] + now[i - width] + now[i + width] - 4 * now[i];
        last[i] = 2 * now[i] - last[i] + c * around;
    }
}

extern "C" __global__ void back_substitute(const float *u, float *b, int n) {
    for (int k = n - 1; k >= 0; k--) {
        if (threadIdx.x == 0) b[k] /= u[k * n + k];
        __syncthreads();
        for (int i = threadIdx.x; i < k; i += blockDim.x) b[i] -= u[i * n + k] * b[k];
        __syncthreads();
    }
}

extern "C" __global__ void convolve_constant(const short *in, int *out, int n) {
    constexpr int taps[5] = {1, 4, 6, 4, 1};
    __shared__ short s[132];
    int t = threadIdx.x, base = blockIdx.x * 128;
    s[t + 2] = base + t < n ? in[base + t] : 0;
    if (t < 2) {
        s[t] = base + t >= 2 ? in[base + t - 2] : 0;
        s[130 + t] = base + 128 + t < n ? in[base + 128 + t] : 0;
    }
    __syncthreads();
    int sum = 0;
    for (int k = 0; k < 5; k++) sum += taps[k] * s[t + k];
    if (base + t < n) out[base + t] = sum;
}

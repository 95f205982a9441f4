// Reductions, scans, histograms and rows that are normalised.
#include <cooperative_groups.h>
#include <math.h>
namespace cg = cooperative_groups;

extern "C" __global__ void dot(const float *a, const float *b, float *c, int n) {
    __shared__ float cache[256];
    float temp = 0;
    for (int i = threadIdx.x + blockIdx.x * blockDim.x; i < n; i += blockDim.x * gridDim.x) temp += a[i] * b[i];
    cache[threadIdx.x] = temp;
    __syncthreads();
    for (int i = blockDim.x / 2; i != 0; i /= 2) {
        if (threadIdx.x < i) cache[threadIdx.x] += cache[threadIdx.x + i];
        __syncthreads();
    }
    if (threadIdx.x == 0) c[blockIdx.x] = cache[0];
}

extern "C" __global__ void sum_double(const double2 *in, double *out, int n) {
    __shared__ double s[128];
    double mine = 0;
    for (int i = blockIdx.x * 128 + threadIdx.x; i < n; i += gridDim.x * 128) {
        double2 v = in[i];
        mine += v.x + v.y;
    }
    s[threadIdx.x] = mine;
    __syncthreads();
    if (threadIdx.x < 64) s[threadIdx.x] += s[threadIdx.x + 64];
    __syncthreads();
    if (threadIdx.x < 32) {
        mine = s[threadIdx.x] + s[threadIdx.x + 32];
        for (int o = 16; o; o >>= 1) mine += __shfl_xor_sync(~0u, mine, o);
        if (threadIdx.x == 0) out[blockIdx.x] = mine;
    }
}

extern "C" __global__ void sum_groups(const int4 *in, int *out, int n) {
    auto block = cg::this_thread_block();
    auto warp = cg::tiled_partition<32>(block);
    int mine = 0;
    for (int i = blockIdx.x * blockDim.x + threadIdx.x; i < n; i += gridDim.x * blockDim.x) {
        int4 v = in[i];
        mine += v.x + v.y + v.z + v.w;
    }
    for (int o = warp.size() / 2; o > 0; o /= 2) mine += warp.shfl_down(mine, o);
    if (warp.thread_rank() == 0) atomicAdd(out, mine);
}

extern "C" __global__ void block_sum(const float *in, float *out, int n) {
    __shared__ float partial[32];
    int lane = threadIdx.x & 31, warp = threadIdx.x >> 5, i = blockIdx.x * blockDim.x + threadIdx.x;
    float v = i < n ? in[i] : 0.0f;
    for (int o = 16; o > 0; o >>= 1) v += __shfl_down_sync(0xffffffffu, v, o);
    if (lane == 0) partial[warp] = v;
    __syncthreads();
    v = threadIdx.x < blockDim.x / 32 ? partial[lane] : 0.0f;
    if (warp == 0) {
        for (int o = 16; o > 0; o >>= 1) v += __shfl_down_sync(0xffffffffu, v, o);
        if (lane == 0) out[blockIdx.x] = v;
    }
}

extern "C" __global__ void arg_max(const float *in, int *where, int n) {
    __shared__ float best[128];
    __shared__ int at[128];
    int t = threadIdx.x;
    best[t] = -1e30f;
    at[t] = -1;
    for (int i = blockIdx.x * 128 + t; i < n; i += gridDim.x * 128)
        if (in[i] > best[t]) {
            best[t] = in[i];
            at[t] = i;
        }
    __syncthreads();
    for (int s = 64; s; s >>= 1) {
        if (t < s && best[t + s] > best[t]) {
            best[t] = best[t + s];
            at[t] = at[t + s];
        }
        __syncthreads();
    }
    if (t == 0) where[blockIdx.x] = at[0];
}

extern "C" __global__ void scan_hillis(const float *in, float *out) {
    __shared__ float temp[2][256];
    int t = threadIdx.x, g = blockIdx.x * 256 + t, to = 0, from = 1;
    temp[0][t] = t > 0 ? in[g - 1] : 0;
    __syncthreads();
    for (int offset = 1; offset < 256; offset *= 2) {
        to = 1 - to;
        from = 1 - to;
        if (t >= offset) temp[to][t] = temp[from][t] + temp[from][t - offset];
        else temp[to][t] = temp[from][t];
        __syncthreads();
    }
    out[g] = temp[to][t];
}

#define AVOID(n) ((n) >> 5)
extern "C" __global__ void scan_blelloch(const float *in, float *out, int n) {
    __shared__ float temp[512 + 16];
    int t = threadIdx.x, offset = 1, ai = t, bi = t + n / 2;
    in += blockIdx.x * n;
    out += blockIdx.x * n;
    temp[ai + AVOID(ai)] = in[ai];
    temp[bi + AVOID(bi)] = in[bi];
    for (int d = n >> 1; d > 0; d >>= 1) {
        __syncthreads();
        if (t < d) {
            int a = offset * (2 * t + 1) - 1, b = offset * (2 * t + 2) - 1;
            temp[b + AVOID(b)] += temp[a + AVOID(a)];
        }
        offset *= 2;
    }
    if (t == 0) temp[n - 1 + AVOID(n - 1)] = 0;
    for (int d = 1; d < n; d *= 2) {
        offset >>= 1;
        __syncthreads();
        if (t < d) {
            int a = offset * (2 * t + 1) - 1, b = offset * (2 * t + 2) - 1;
            float v = temp[a + AVOID(a)];
            temp[a + AVOID(a)] = temp[b + AVOID(b)];
            temp[b + AVOID(b)] += v;
        }
    }
    __syncthreads();
    out[ai] = temp[ai + AVOID(ai)];
    out[bi] = temp[bi + AVOID(bi)];
}

extern "C" __global__ void scan_warps(const int *in, int *out, int n) {
    __shared__ int sums[32];
    int i = blockIdx.x * blockDim.x + threadIdx.x, lane = threadIdx.x % 32, warp = threadIdx.x / 32;
    int v = i < n ? in[i] : 0;
    for (int o = 1; o < 32; o *= 2) {
        int up = __shfl_up_sync(0xffffffff, v, o);
        if (lane >= o) v += up;
    }
    if (lane == 31) sums[warp] = v;
    __syncthreads();
    if (warp == 0) {
        int s = lane < blockDim.x / 32 ? sums[lane] : 0;
        for (int o = 1; o < 32; o *= 2) {
            int up = __shfl_up_sync(0xffffffff, s, o);
            if (lane >= o) s += up;
        }
        sums[lane] = s;
    }
    __syncthreads();
    if (warp > 0) v += sums[warp - 1];
    if (i < n) out[i] = v;
}

// Four numbers a thread, kept in registers between the two halves.
extern "C" __global__ void scan_four(const int4 *in, int4 *out) {
    __shared__ int s[2 * 128];
    int t = threadIdx.x, g = blockIdx.x * 128 + t;
    int4 v = in[g];
    v.y += v.x;
    v.z += v.y;
    v.w += v.z;
    s[t] = 0;
    s[t + 128] = v.w;
    for (int o = 1; o < 128; o <<= 1) {
        __syncthreads();
        int sum = s[t + 128] + s[t + 128 - o];
        __syncthreads();
        s[t + 128] = sum;
    }
    int before = s[t + 128] - v.w;
    v.x += before;
    v.y += before;
    v.z += before;
    v.w += before;
    out[g] = v;
}

extern "C" __global__ void histogram_bytes(const unsigned int *data, unsigned int *bins, int n) {
    __shared__ unsigned int s[256];
    for (int i = threadIdx.x; i < 256; i += blockDim.x) s[i] = 0;
    __syncthreads();
    for (int i = blockIdx.x * blockDim.x + threadIdx.x; i < n; i += gridDim.x * blockDim.x) {
        unsigned int w = data[i];
        atomicAdd(&s[w & 0xFF], 1);
        atomicAdd(&s[(w >> 8) & 0xFF], 1);
        atomicAdd(&s[(w >> 16) & 0xFF], 1);
        atomicAdd(&s[(w >> 24) & 0xFF], 1);
    }
    __syncthreads();
    for (int i = threadIdx.x; i < 256; i += blockDim.x) atomicAdd(&bins[i], s[i]);
}

// 64 bins, a byte of shared memory for every thread and bin.
extern "C" __global__ void histogram_64(const unsigned char *data, unsigned int *partial, int n) {
    __shared__ unsigned char s[64 * 64];
    int t = threadIdx.x;
    for (int i = 0; i < 16; i++) ((unsigned int *)s)[t + i * 64] = 0;
    __syncthreads();
    for (int i = blockIdx.x * 64 + t; i < n; i += gridDim.x * 64) s[t + (data[i] >> 2) * 64]++;
    __syncthreads();
    unsigned int sum = 0;
    for (int i = 0, at = t & 63; i < 64; i++) {
        sum += s[t * 64 + at];
        if (++at == 64) at = 0;
    }
    partial[blockIdx.x * 64 + t] = sum;
}

extern "C" __global__ void histogram_text(const char *buffer, unsigned int *histo, int length) {
    __shared__ unsigned int h[7];
    for (int b = threadIdx.x; b < 7; b += blockDim.x) h[b] = 0;
    __syncthreads();
    for (int i = blockIdx.x * blockDim.x + threadIdx.x; i < length; i += blockDim.x * gridDim.x) {
        int position = buffer[i] - 'a';
        if (position >= 0 && position < 26) atomicAdd(&h[position / 4], 1);
    }
    __syncthreads();
    for (int b = threadIdx.x; b < 7; b += blockDim.x) atomicAdd(&histo[b], h[b]);
}

extern "C" __global__ void softmax(const float *in, float *out, int cols) {
    __shared__ float s[128];
    int t = threadIdx.x;
    const float *x = in + blockIdx.x * cols;
    float *y = out + blockIdx.x * cols;
    float most = -INFINITY;
    for (int i = t; i < cols; i += 128) most = fmaxf(most, x[i]);
    s[t] = most;
    __syncthreads();
    for (int o = 64; o; o >>= 1) {
        if (t < o) s[t] = fmaxf(s[t], s[t + o]);
        __syncthreads();
    }
    most = s[0];
    __syncthreads();
    float sum = 0;
    for (int i = t; i < cols; i += 128) {
        float e = expf(x[i] - most);
        y[i] = e;
        sum += e;
    }
    s[t] = sum;
    __syncthreads();
    for (int o = 64; o; o >>= 1) {
        if (t < o) s[t] += s[t + o];
        __syncthreads();
    }
    sum = s[0];
    for (int i = t; i < cols; i += 128) y[i] /= sum;
}

extern "C" __global__ void softmax_warp(const float *in, float *out, int rows, int cols) {
    int row = blockIdx.x * (blockDim.x / 32) + threadIdx.x / 32, lane = threadIdx.x % 32;
    if (row >= rows) return;
    const float *x = in + row * cols;
    float m = -INFINITY, d = 0;
    for (int i = lane; i < cols; i += 32) {
        float n = fmaxf(m, x[i]);
        d = d * __expf(m - n) + __expf(x[i] - n);
        m = n;
    }
    for (int o = 16; o; o >>= 1) {
        float om = __shfl_xor_sync(~0u, m, o), od = __shfl_xor_sync(~0u, d, o), n = fmaxf(m, om);
        d = d * __expf(m - n) + od * __expf(om - n);
        m = n;
    }
    for (int i = lane; i < cols; i += 32) out[row * cols + i] = __expf(x[i] - m) / d;
}

extern "C" __global__ void layer_norm(const float4 *in, const float4 *gain, float4 *out, int cols4) {
    __shared__ float sum[8], squares[8];
    int t = threadIdx.x, warp = t / 32;
    const float4 *x = in + blockIdx.x * cols4;
    float s = 0, q = 0;
    for (int i = t; i < cols4; i += blockDim.x) {
        float4 v = x[i];
        s += v.x + v.y + v.z + v.w;
        q += v.x * v.x + v.y * v.y + v.z * v.z + v.w * v.w;
    }
    for (int o = 16; o; o >>= 1) {
        s += __shfl_xor_sync(~0u, s, o);
        q += __shfl_xor_sync(~0u, q, o);
    }
    if (t % 32 == 0) {
        sum[warp] = s;
        squares[warp] = q;
    }
    __syncthreads();
    s = q = 0;
    for (int w = 0; w < 8; w++) {
        s += sum[w];
        q += squares[w];
    }
    float mean = s / (4 * cols4), scale = rsqrtf(q / (4 * cols4) - mean * mean + 1e-5f);
    for (int i = t; i < cols4; i += blockDim.x) {
        float4 v = x[i], g = gain[i];
        out[blockIdx.x * cols4 + i] = make_float4((v.x - mean) * scale * g.x, (v.y - mean) * scale * g.y,
                                                  (v.z - mean) * scale * g.z, (v.w - mean) * scale * g.w);
    }
}

extern "C" __global__ void layer_forward(const float *input, float *weights, float *sums, int hidden) {
    __shared__ float node[16], matrix[16][16];
    int by = blockIdx.y, tx = threadIdx.x, ty = threadIdx.y;
    int at = (hidden + 1) * 16 * by + (hidden + 1) * ty + tx + 1 + hidden + 1;
    if (tx == 0) node[ty] = input[16 * by + ty + 1];
    __syncthreads();
    matrix[ty][tx] = weights[at];
    __syncthreads();
    matrix[ty][tx] = matrix[ty][tx] * node[ty];
    __syncthreads();
    for (int i = 1; i <= 4; i++) {
        int power = 1 << i;
        if (ty % power == 0) matrix[ty][tx] = matrix[ty][tx] + matrix[ty + power / 2][tx];
        __syncthreads();
    }
    weights[at] = matrix[ty][tx];
    __syncthreads();
    if (tx == 0) sums[by * hidden + ty] = matrix[tx][ty];
}

// Pictures, and the bytes of texts.

extern "C" __global__ void bilinear(const uchar4 *in, uchar4 *out, int width, int height, float scale) {
    int x = blockIdx.x * blockDim.x + threadIdx.x, y = blockIdx.y * blockDim.y + threadIdx.y;
    if (x >= width || y >= height) return;
    float fx = x * scale, fy = y * scale;
    int x0 = (int)fx, y0 = (int)fy;
    int x1 = min(x0 + 1, width - 1), y1 = min(y0 + 1, height - 1);
    float ax = fx - x0, ay = fy - y0;
    uchar4 a = in[y0 * width + x0], b = in[y0 * width + x1], c = in[y1 * width + x0], d = in[y1 * width + x1];
    float4 top = make_float4(a.x + ax * (b.x - a.x), a.y + ax * (b.y - a.y), a.z + ax * (b.z - a.z), 255);
    float4 low = make_float4(c.x + ax * (d.x - c.x), c.y + ax * (d.y - c.y), c.z + ax * (d.z - c.z), 255);
    out[y * width + x] = make_uchar4(top.x + ay * (low.x - top.x), top.y + ay * (low.y - top.y),
                                     top.z + ay * (low.z - top.z), 255);
}

__device__ void order(unsigned char &a, unsigned char &b) {
    unsigned char low = min(a, b);
    b = max(a, b);
    a = low;
}

extern "C" __global__ void median_3x3(const unsigned char *in, unsigned char *out, int width, int height) {
    __shared__ unsigned char tile[10][34];
    int x0 = blockIdx.x * 32 - 1, y0 = blockIdx.y * 8 - 1;
    for (int i = threadIdx.y * 32 + threadIdx.x; i < 340; i += 256) {
        int x = min(max(x0 + i % 34, 0), width - 1), y = min(max(y0 + i / 34, 0), height - 1);
        tile[i / 34][i % 34] = in[y * width + x];
    }
    __syncthreads();
    int x = x0 + 1 + threadIdx.x, y = y0 + 1 + threadIdx.y;
    if (x >= width || y >= height) return;
    unsigned char v[9];
    for (int i = 0; i < 9; i++) v[i] = tile[threadIdx.y + i / 3][threadIdx.x + i % 3];
    for (int end = 8; end > 3; end--)
        for (int i = 0; i < end; i++) order(v[i], v[i + 1]);
    out[y * width + x] = v[4];
}

extern "C" __global__ void erode(const unsigned char *in, unsigned char *out, int width, int height, int radius) {
    __shared__ unsigned char row[160];
    int y = blockIdx.x, wide = width + 2 * radius;
    for (int i = threadIdx.x; i < wide; i += blockDim.x) {
        int x = i - radius;
        row[i] = x < 0 || x >= width ? 255 : in[y * width + x];
    }
    __syncthreads();
    for (int x = threadIdx.x; x < width; x += blockDim.x) {
        unsigned char least = 255;
        for (int k = 0; k <= 2 * radius; k++) least = min(least, row[x + k]);
        out[y * width + x] = least;
    }
}

extern "C" __global__ void integral_columns(int *image, int width, int height) {
    int x = blockIdx.x * blockDim.x + threadIdx.x;
    if (x >= width) return;
    int sum = 0;
    for (int y = 0; y < height; y++) {
        sum += image[y * width + x];
        image[y * width + x] = sum;
    }
}

extern "C" __global__ void integral_rows(int *image, int width, int height) {
    int y = blockIdx.x * blockDim.x + threadIdx.x;
    if (y >= height) return;
    int sum = 0;
    for (int x = 0; x < width; x++) {
        sum += image[y * width + x];
        image[y * width + x] = sum;
    }
}

extern "C" __global__ void yuv_planes(const uchar4 *rgba, unsigned char *luma, uchar2 *chroma, int width, int height) {
    int x = 2 * (blockIdx.x * blockDim.x + threadIdx.x), y = 2 * (blockIdx.y * blockDim.y + threadIdx.y);
    if (x >= width || y >= height) return;
    int r = 0, g = 0, b = 0;
    for (int dy = 0; dy < 2; dy++)
        for (int dx = 0; dx < 2; dx++) {
            uchar4 p = rgba[(y + dy) * width + x + dx];
            luma[(y + dy) * width + x + dx] = (66 * p.x + 129 * p.y + 25 * p.z + 4224) >> 8;
            r += p.x, g += p.y, b += p.z;
        }
    chroma[y / 2 * (width / 2) + x / 2] = make_uchar2((-38 * r - 74 * g + 112 * b + 131584) >> 10,
                                                      (112 * r - 94 * g - 18 * b + 131584) >> 10);
}

extern "C" __global__ void rotate(const ushort4 *in, ushort4 *out, int width, int height) {
    __shared__ ushort4 tile[16][17];
    int x = blockIdx.x * 16 + threadIdx.x, y = blockIdx.y * 16 + threadIdx.y;
    if (x < width && y < height) tile[threadIdx.y][threadIdx.x] = in[y * width + x];
    __syncthreads();
    int to_x = height - 1 - (blockIdx.y * 16 + threadIdx.x), to_y = blockIdx.x * 16 + threadIdx.y;
    if (to_x >= 0 && to_y < width) out[to_y * height + to_x] = tile[threadIdx.x][threadIdx.y];
}

extern "C" __global__ void equalise(const unsigned char *in, const unsigned int *total, unsigned char *out, int n) {
    __shared__ unsigned int sums[256];
    unsigned int t = threadIdx.x;
    sums[t] = total[t];
    for (int step = 1; step < 256; step *= 2) {
        __syncthreads();
        unsigned int before = t >= step ? sums[t - step] : 0;
        __syncthreads();
        sums[t] += before;
    }
    __syncthreads();
    for (int i = blockIdx.x * 256 + t; i < n; i += gridDim.x * 256) out[i] = 255ull * sums[in[i]] / sums[255];
}

extern "C" __global__ void dither_threshold(const float *in, unsigned int *bits, int width) {
    int x = blockIdx.x * blockDim.x + threadIdx.x, y = blockIdx.y;
    const float levels[16] = {0, 8, 2, 10, 12, 4, 14, 6, 3, 11, 1, 9, 15, 7, 13, 5};
    bool on = x < width && in[y * width + x] > 0.5f + (levels[(y & 3) * 4 + (x & 3)] - 7.5f) / 16;
    unsigned int word = __ballot_sync(~0u, on);
    if (threadIdx.x % 32 == 0 && x < width) bits[y * ((width + 31) / 32) + x / 32] = word;
}

extern "C" __global__ void base64(const unsigned char *in, uchar4 *out, int triples) {
    int i = blockIdx.x * blockDim.x + threadIdx.x;
    if (i >= triples) return;
    const char *digits = "ABCDEFGHIJKLMNOPQRSTUVWXYZabcdefghijklmnopqrstuvwxyz0123456789+/";
    unsigned int word = in[3 * i] << 16 | in[3 * i + 1] << 8 | in[3 * i + 2];
    out[i] = make_uchar4(digits[word >> 18], digits[word >> 12 & 63], digits[word >> 6 & 63], digits[word & 63]);
}

extern "C" __global__ void run_heads(const unsigned char *in, int *heads, int *count, int n) {
    __shared__ int found, base;
    int i = blockIdx.x * blockDim.x + threadIdx.x;
    if (threadIdx.x == 0) found = 0;
    __syncthreads();
    bool head = i < n && (i == 0 || in[i] != in[i - 1]);
    unsigned int mask = __ballot_sync(~0u, head);
    int lane = threadIdx.x & 31, place = 0;
    if (lane == 0) place = atomicAdd(&found, __popc(mask));
    place = __shfl_sync(~0u, place, 0) + __popc(mask & ((1u << lane) - 1));
    __syncthreads();
    if (threadIdx.x == 0) base = atomicAdd(count, found);
    __syncthreads();
    if (head) heads[base + place] = i;
}

extern "C" __global__ void edit_distance(const char *a, const char *b, int *out, int n, int m) {
    __shared__ int row[3][130];
    int t = threadIdx.x;
    for (int d = 0; d <= n + m; d++) {
        int *now = row[d % 3], *last = row[(d + 2) % 3], *before = row[(d + 1) % 3];
        int i = t, j = d - t;
        if (i <= n && j >= 0 && j <= m) {
            if (i == 0 || j == 0) now[i] = i + j;
            else now[i] = min(min(last[i], last[i - 1]) + 1, before[i - 1] + (a[i - 1] != b[j - 1]));
        }
        __syncthreads();
    }
    if (t == n) *out = row[(n + m) % 3][n];
}

extern "C" __global__ void pack_bits(const unsigned short *in, unsigned int *out, int groups) {
    int g = blockIdx.x * blockDim.x + threadIdx.x;
    if (g >= groups) return;
    unsigned long long low = 0, high = 0;
    for (int k = 0; k < 8; k++) {
        unsigned long long v = in[8 * g + k] & 0xfff;
        int at = 12 * k;
        if (at < 64) low |= v << at;
        if (at + 12 > 64) high |= at < 64 ? v >> (64 - at) : v << (at - 64);
    }
    out[3 * g] = low, out[3 * g + 1] = low >> 32, out[3 * g + 2] = high;
}

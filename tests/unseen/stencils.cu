// Stencils and filters, as courses and benchmarks write them.
#define RADIUS 3
#define BLOCK 256

extern "C" __global__ void stencil_1d(const float *in, float *out, int n) {
    __shared__ float temp[BLOCK + 2 * RADIUS];
    int g = threadIdx.x + blockIdx.x * blockDim.x, l = threadIdx.x + RADIUS;
    temp[l] = g < n ? in[g] : 0.0f;
    if (threadIdx.x < RADIUS) {
        temp[l - RADIUS] = g >= RADIUS ? in[g - RADIUS] : 0.0f;
        temp[l + BLOCK] = g + BLOCK < n ? in[g + BLOCK] : 0.0f;
    }
    __syncthreads();
    float sum = 0;
    for (int k = -RADIUS; k <= RADIUS; k++) sum += temp[l + k];
    if (g < n) out[g] = sum / (2 * RADIUS + 1);
}

extern "C" __global__ void jacobi(const float *a, float *b, int width, int height) {
    int x = blockIdx.x * blockDim.x + threadIdx.x, y = blockIdx.y * blockDim.y + threadIdx.y;
    if (x < 1 || y < 1 || x >= width - 1 || y >= height - 1) return;
    int i = y * width + x;
    b[i] = 0.25f * (a[i - 1] + a[i + 1] + a[i - width] + a[i + width]);
}

extern "C" __global__ void heat_tile(const float *in, float *out, int width, int height, float k) {
    __shared__ float t[18][18];
    int tx = threadIdx.x + 1, ty = threadIdx.y + 1;
    int x = blockIdx.x * 16 + threadIdx.x, y = blockIdx.y * 16 + threadIdx.y;
    t[ty][tx] = in[y * width + x];
    if (threadIdx.x == 0) t[ty][0] = x > 0 ? in[y * width + x - 1] : 0.0f;
    if (threadIdx.x == 15) t[ty][17] = x < width - 1 ? in[y * width + x + 1] : 0.0f;
    if (threadIdx.y == 0) t[0][tx] = y > 0 ? in[(y - 1) * width + x] : 0.0f;
    if (threadIdx.y == 15) t[17][tx] = y < height - 1 ? in[(y + 1) * width + x] : 0.0f;
    __syncthreads();
    float c = t[ty][tx];
    out[y * width + x] = c + k * (t[ty][tx - 1] + t[ty][tx + 1] + t[ty - 1][tx] + t[ty + 1][tx] - 4.0f * c);
}

extern "C" __global__ void stencil_3d(const float *in, float *out, int nx, int ny, int nz) {
    __shared__ float tile[8 + 2][32 + 2];
    int x = blockIdx.x * 32 + threadIdx.x, y = blockIdx.y * 8 + threadIdx.y;
    int sx = threadIdx.x + 1, sy = threadIdx.y + 1, plane = nx * ny, i = y * nx + x;
    float below = in[i], here = in[i + plane], above;
    for (int z = 1; z < nz - 1; z++) {
        above = in[i + (z + 1) * plane];
        __syncthreads();
        tile[sy][sx] = here;
        if (sx == 1 && x > 0) tile[sy][0] = in[i + z * plane - 1];
        if (sx == 32 && x < nx - 1) tile[sy][33] = in[i + z * plane + 1];
        if (sy == 1 && y > 0) tile[0][sx] = in[i + z * plane - nx];
        if (sy == 8 && y < ny - 1) tile[9][sx] = in[i + z * plane + nx];
        __syncthreads();
        if (x > 0 && x < nx - 1 && y > 0 && y < ny - 1)
            out[i + z * plane] = (below + above + tile[sy][sx - 1] + tile[sy][sx + 1] + tile[sy - 1][sx] +
                                  tile[sy + 1][sx]) * 0.15f + here * 0.1f;
        below = here;
        here = above;
    }
}

#define K_RADIUS 8
__constant__ float d_kernel[2 * K_RADIUS + 1] = {.01f, .02f, .03f, .04f, .05f, .06f, .07f, .08f, .28f,
                                                 .08f, .07f, .06f, .05f, .04f, .03f, .02f, .01f};

// The separable convolution: 16 x 4 threads, 8 results each, one halo block on either side.
extern "C" __global__ void convolution_rows(const float *src, float *dst, int width, int pitch) {
    __shared__ float s[4][(8 + 2) * 16];
    int baseX = (blockIdx.x * 8 - 1) * 16 + threadIdx.x, baseY = blockIdx.y * 4 + threadIdx.y;
    src += baseY * pitch + baseX;
    dst += baseY * pitch + baseX;
#pragma unroll
    for (int i = 1; i < 9; i++) s[threadIdx.y][threadIdx.x + i * 16] = src[i * 16];
    s[threadIdx.y][threadIdx.x] = baseX >= 0 ? src[0] : 0;
    s[threadIdx.y][threadIdx.x + 9 * 16] = width - baseX > 9 * 16 ? src[9 * 16] : 0;
    __syncthreads();
#pragma unroll
    for (int i = 1; i < 9; i++) {
        float sum = 0;
#pragma unroll
        for (int j = -K_RADIUS; j <= K_RADIUS; j++)
            sum += d_kernel[K_RADIUS - j] * s[threadIdx.y][threadIdx.x + i * 16 + j];
        dst[i * 16] = sum;
    }
}

#define MASK 5
__constant__ float mask[MASK][MASK] = {{1, 2, 3, 2, 1}, {2, 3, 4, 3, 2}, {3, 4, 5, 4, 3}, {2, 3, 4, 3, 2}, {1, 2, 3, 2, 1}};

extern "C" __global__ void convolution_2d(const float *in, float *out, int width, int height) {
    __shared__ float n[16 + MASK - 1][16 + MASK - 1];
    int rowO = blockIdx.y * 16 + threadIdx.y, colO = blockIdx.x * 16 + threadIdx.x;
    int rowI = rowO - MASK / 2, colI = colO - MASK / 2;
    if (rowI >= 0 && rowI < height && colI >= 0 && colI < width) n[threadIdx.y][threadIdx.x] = in[rowI * width + colI];
    else n[threadIdx.y][threadIdx.x] = 0.0f;
    __syncthreads();
    if (threadIdx.y < 16 && threadIdx.x < 16 && rowO < height && colO < width) {
        float sum = 0;
        for (int i = 0; i < MASK; i++)
            for (int j = 0; j < MASK; j++) sum += mask[i][j] * n[i + threadIdx.y][j + threadIdx.x];
        out[rowO * width + colO] = sum;
    }
}

extern "C" __global__ void sobel(const unsigned char *in, unsigned char *out, int width, int height) {
    int x = blockIdx.x * blockDim.x + threadIdx.x, y = blockIdx.y * blockDim.y + threadIdx.y;
    if (x == 0 || y == 0 || x >= width - 1 || y >= height - 1) return;
    const unsigned char *p = in + y * width + x;
    int gx = p[-width + 1] + 2 * p[1] + p[width + 1] - p[-width - 1] - 2 * p[-1] - p[width - 1];
    int gy = p[width - 1] + 2 * p[width] + p[width + 1] - p[-width - 1] - 2 * p[-width] - p[-width + 1];
    int g = abs(gx) + abs(gy);
    out[y * width + x] = g > 255 ? 255 : g;
}

extern "C" __global__ void box_filter(const unsigned char *in, unsigned char *out, int width, int height, int r) {
    int y = blockIdx.x * blockDim.x + threadIdx.x;
    if (y >= height) return;
    int sum = 0;
    for (int x = -r; x <= r; x++) sum += in[y * width + min(max(x, 0), width - 1)];
    for (int x = 0; x < width; x++) {
        out[y * width + x] = sum / (2 * r + 1);
        sum += in[y * width + min(x + r + 1, width - 1)] - in[y * width + max(x - r, 0)];
    }
}

extern "C" __global__ void life(const unsigned char *in, unsigned char *out, int n) {
    __shared__ unsigned char cell[10][34];
    int x0 = blockIdx.x * 32 - 1, y0 = blockIdx.y * 8 - 1;
    for (int i = threadIdx.y * 32 + threadIdx.x; i < 340; i += 256) {
        int x = (x0 + i % 34 + n) % n, y = (y0 + i / 34 + n) % n;
        cell[i / 34][i % 34] = in[y * n + x];
    }
    __syncthreads();
    int x = threadIdx.x + 1, y = threadIdx.y + 1, alive = 0;
    for (int dy = -1; dy <= 1; dy++)
        for (int dx = -1; dx <= 1; dx++)
            if (dx || dy) alive += cell[y + dy][x + dx];
    out[(y0 + y) * n + x0 + x] = alive == 3 || (alive == 2 && cell[y][x]);
}

// Hotspot of the Rodinia kind: several steps in one tile that shrinks.
extern "C" __global__ void hotspot(const float *power, const float *temperature, float *out, int n, int steps) {
    __shared__ float t[16][16], p[16][16], next[16][16];
    int border = steps, inner = 16 - 2 * border;
    int y = blockIdx.y * inner - border + threadIdx.y, x = blockIdx.x * inner - border + threadIdx.x;
    int ty = threadIdx.y, tx = threadIdx.x;
    bool inside = y >= 0 && y < n && x >= 0 && x < n;
    if (inside) {
        t[ty][tx] = temperature[y * n + x];
        p[ty][tx] = power[y * n + x];
    }
    __syncthreads();
    int north = y > 0 ? ty - 1 : ty, south = y < n - 1 ? ty + 1 : ty, west = x > 0 ? tx - 1 : tx, east = x < n - 1 ? tx + 1 : tx;
    bool computed = false;
    for (int i = 0; i < steps; i++) {
        computed = false;
        if (tx >= i + 1 && tx <= 14 - i && ty >= i + 1 && ty <= 14 - i && inside) {
            computed = true;
            next[ty][tx] = t[ty][tx] + 0.1f * (p[ty][tx] + (t[south][tx] + t[north][tx] - 2.0f * t[ty][tx]) * 0.2f +
                                               (t[ty][east] + t[ty][west] - 2.0f * t[ty][tx]) * 0.2f);
        }
        __syncthreads();
        if (i == steps - 1) break;
        if (computed) t[ty][tx] = next[ty][tx];
        __syncthreads();
    }
    if (computed) out[y * n + x] = next[ty][tx];
}

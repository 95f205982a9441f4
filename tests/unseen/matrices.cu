// Transposes, matrix products and other operations on matrices.

extern "C" __global__ void transpose_naive(const float *in, float *out, int n) {
    int x = blockIdx.x * 32 + threadIdx.x, y = blockIdx.y * 32 + threadIdx.y;
    for (int j = 0; j < 32; j += 8) out[x * n + y + j] = in[(y + j) * n + x];
}

extern "C" __global__ void transpose_conflicts(const float *in, float *out, int n) {
    __shared__ float tile[32][32];
    int x = blockIdx.x * 32 + threadIdx.x, y = blockIdx.y * 32 + threadIdx.y;
    for (int j = 0; j < 32; j += 8) tile[threadIdx.y + j][threadIdx.x] = in[(y + j) * n + x];
    __syncthreads();
    x = blockIdx.y * 32 + threadIdx.x;
    y = blockIdx.x * 32 + threadIdx.y;
    for (int j = 0; j < 32; j += 8) out[(y + j) * n + x] = tile[threadIdx.x][threadIdx.y + j];
}

extern "C" __global__ void transpose_padded(const double *in, double *out, int n) {
    __shared__ double tile[32][33];
    int x = blockIdx.x * 32 + threadIdx.x, y = blockIdx.y * 32 + threadIdx.y;
    for (int j = 0; j < 32; j += 8) tile[threadIdx.y + j][threadIdx.x] = in[(y + j) * n + x];
    __syncthreads();
    x = blockIdx.y * 32 + threadIdx.x;
    y = blockIdx.x * 32 + threadIdx.y;
    for (int j = 0; j < 32; j += 8) out[(y + j) * n + x] = tile[threadIdx.x][threadIdx.y + j];
}

// 32 x 32 elements by 8 x 32 threads, 16 bytes a thread at both ends.
extern "C" __global__ void transpose_float4(const float4 *in, float4 *out, int n) {
    __shared__ float tile[32][36];
    int x = threadIdx.x, y = threadIdx.y;
    float4 v = in[(blockIdx.y * 32 + y) * (n / 4) + blockIdx.x * 8 + x];
    *(float4 *)&tile[y][4 * x] = v;
    __syncthreads();
    float4 w = make_float4(tile[4 * x][y], tile[4 * x + 1][y], tile[4 * x + 2][y], tile[4 * x + 3][y]);
    out[(blockIdx.x * 32 + y) * (n / 4) + blockIdx.y * 8 + x] = w;
}

template <int TILE, typename E> __device__ void product(const E *a, const E *b, E *c, int n) {
    __shared__ E as[TILE][TILE], bs[TILE][TILE];
    int tx = threadIdx.x, ty = threadIdx.y, row = blockIdx.y * TILE + ty, col = blockIdx.x * TILE + tx;
    E sum = 0;
    for (int m = 0; m < n / TILE; m++) {
        as[ty][tx] = a[row * n + m * TILE + tx];
        bs[ty][tx] = b[(m * TILE + ty) * n + col];
        __syncthreads();
        for (int k = 0; k < TILE; k++) sum += as[ty][k] * bs[k][tx];
        __syncthreads();
    }
    c[row * n + col] = sum;
}

extern "C" __global__ void matmul_8(const float *a, const float *b, float *c, int n) { product<8>(a, b, c, n); }
extern "C" __global__ void matmul_16(const float *a, const float *b, float *c, int n) { product<16>(a, b, c, n); }
extern "C" __global__ void matmul_32(const float *a, const float *b, float *c, int n) { product<32>(a, b, c, n); }
extern "C" __global__ void matmul_double(const double *a, const double *b, double *c, int n) { product<16>(a, b, c, n); }
extern "C" __global__ void matmul_integer(const int *a, const int *b, int *c, int n) { product<16>(a, b, c, n); }

extern "C" __global__ void matmul_unroll_1(const float *a, const float *b, float *c, int n) {
    __shared__ float as[16][16], bs[16][16];
    int tx = threadIdx.x, ty = threadIdx.y, row = blockIdx.y * 16 + ty, col = blockIdx.x * 16 + tx;
    float sum = 0;
    for (int m = 0; m < n; m += 16) {
        as[ty][tx] = a[row * n + m + tx];
        bs[ty][tx] = b[(m + ty) * n + col];
        __syncthreads();
#pragma unroll 1
        for (int k = 0; k < 16; k++) sum += as[ty][k] * bs[k][tx];
        __syncthreads();
    }
    c[row * n + col] = sum;
}

extern "C" __global__ void matmul_unroll_4(const float *a, const float *b, float *c, int n) {
    __shared__ float as[16][16 + 1], bs[16][16 + 1];
    int tx = threadIdx.x, ty = threadIdx.y, row = blockIdx.y * 16 + ty, col = blockIdx.x * 16 + tx;
    float sum = 0;
    for (int m = 0; m < n; m += 16) {
        as[ty][tx] = a[row * n + m + tx];
        bs[ty][tx] = b[(m + ty) * n + col];
        __syncthreads();
#pragma unroll 4
        for (int k = 0; k < 16; k++) sum += as[ty][k] * bs[k][tx];
        __syncthreads();
    }
    c[row * n + col] = sum;
}

// Any size: elements outside are zero.
extern "C" __global__ void matmul_ragged(const float *a, const float *b, float *c, int m, int n, int k) {
    __shared__ float as[16][16], bs[16][16];
    int row = blockIdx.y * 16 + threadIdx.y, col = blockIdx.x * 16 + threadIdx.x;
    float sum = 0;
    for (int t = 0; t < (k + 15) / 16; t++) {
        int ac = t * 16 + threadIdx.x, br = t * 16 + threadIdx.y;
        as[threadIdx.y][threadIdx.x] = row < m && ac < k ? a[row * k + ac] : 0.0f;
        bs[threadIdx.y][threadIdx.x] = br < k && col < n ? b[br * n + col] : 0.0f;
        __syncthreads();
        for (int i = 0; i < 16; i++) sum += as[threadIdx.y][i] * bs[i][threadIdx.x];
        __syncthreads();
    }
    if (row < m && col < n) c[row * n + col] = sum;
}

// A thread computes two columns.
extern "C" __global__ void matmul_coarse(const float *a, const float *b, float *c, int n) {
    __shared__ float as[16][16], bs[16][32];
    int tx = threadIdx.x, ty = threadIdx.y, row = blockIdx.y * 16 + ty, col = blockIdx.x * 32 + tx;
    float one = 0, two = 0;
    for (int m = 0; m < n; m += 16) {
        as[ty][tx] = a[row * n + m + tx];
        bs[ty][tx] = b[(m + ty) * n + col];
        bs[ty][tx + 16] = b[(m + ty) * n + col + 16];
        __syncthreads();
        for (int k = 0; k < 16; k++) {
            one += as[ty][k] * bs[k][tx];
            two += as[ty][k] * bs[k][tx + 16];
        }
        __syncthreads();
    }
    c[row * n + col] = one;
    c[row * n + col + 16] = two;
}

// 64 x 64 results by 256 threads, 4 x 4 each, both tiles read 16 bytes at a time.
extern "C" __global__ void matmul_registers(const float *a, const float *b, float *c, int n) {
    __shared__ float as[16][64], bs[16][64];
    int t = threadIdx.x, tx = t % 16, ty = t / 16, row0 = blockIdx.y * 64, col0 = blockIdx.x * 64;
    float acc[4][4] = {};
    for (int k0 = 0; k0 < n; k0 += 16) {
        float4 v = *(const float4 *)&a[(row0 + t / 4) * n + k0 + t % 4 * 4];
        as[t % 4 * 4 + 0][t / 4] = v.x;
        as[t % 4 * 4 + 1][t / 4] = v.y;
        as[t % 4 * 4 + 2][t / 4] = v.z;
        as[t % 4 * 4 + 3][t / 4] = v.w;
        *(float4 *)&bs[t / 16][t % 16 * 4] = *(const float4 *)&b[(k0 + t / 16) * n + col0 + t % 16 * 4];
        __syncthreads();
#pragma unroll
        for (int k = 0; k < 16; k++) {
            float4 x = *(float4 *)&as[k][ty * 4], y = *(float4 *)&bs[k][tx * 4];
            float xs[4] = {x.x, x.y, x.z, x.w}, ys[4] = {y.x, y.y, y.z, y.w};
            for (int i = 0; i < 4; i++)
                for (int j = 0; j < 4; j++) acc[i][j] += xs[i] * ys[j];
        }
        __syncthreads();
    }
    for (int i = 0; i < 4; i++)
        for (int j = 0; j < 4; j++) c[(row0 + ty * 4 + i) * n + col0 + tx * 4 + j] = acc[i][j];
}

// 64 x 64 results by 64 threads, 8 x 8 each, scalar reads of shared memory.
extern "C" __global__ void matmul_8x8(const float *a, const float *b, float *c, int n) {
    __shared__ float as[64 * 8], bs[8 * 64];
    int t = threadIdx.x, tc = t % 8, tr = t / 8;
    a += blockIdx.y * 64 * n;
    b += blockIdx.x * 64;
    c += blockIdx.y * 64 * n + blockIdx.x * 64;
    float acc[8 * 8] = {0.0f}, rm[8] = {0.0f}, rn[8] = {0.0f};
    for (int k0 = 0; k0 < n; k0 += 8) {
        for (int o = 0; o < 64; o += 8) as[(t / 8 + o) * 8 + t % 8] = a[(t / 8 + o) * n + t % 8];
        for (int o = 0; o < 8; o += 1) bs[o * 64 + t] = b[o * n + t];
        __syncthreads();
        a += 8;
        b += 8 * n;
        for (int k = 0; k < 8; k++) {
            for (int i = 0; i < 8; i++) rm[i] = as[(tr * 8 + i) * 8 + k];
            for (int i = 0; i < 8; i++) rn[i] = bs[k * 64 + tc * 8 + i];
            for (int i = 0; i < 8; i++)
                for (int j = 0; j < 8; j++) acc[i * 8 + j] += rm[i] * rn[j];
        }
        __syncthreads();
    }
    for (int i = 0; i < 8; i++)
        for (int j = 0; j < 8; j++) c[(tr * 8 + i) * n + tc * 8 + j] = acc[i * 8 + j];
}

extern "C" __global__ void matmul_int8(const int *a, const int *b, int *c, int n, int k4) {
    __shared__ int as[16][17], bs[16][17];
    int tx = threadIdx.x, ty = threadIdx.y, row = blockIdx.y * 16 + ty, col = blockIdx.x * 16 + tx, sum = 0;
    for (int m = 0; m < k4; m += 16) {
        as[ty][tx] = a[row * k4 + m + tx];
        bs[tx][ty] = b[(blockIdx.x * 16 + ty) * k4 + m + tx];
        __syncthreads();
#pragma unroll
        for (int k = 0; k < 16; k++) sum = __dp4a(as[ty][k], bs[k][tx], sum);
        __syncthreads();
    }
    c[row * n + col] = sum;
}

extern "C" __global__ void gemv_shared(const float *a, const float *x, float *y, int rows, int cols) {
    __shared__ float xs[128];
    int row = blockIdx.x * 128 + threadIdx.x;
    float sum = 0;
    for (int c0 = 0; c0 < cols; c0 += 128) {
        xs[threadIdx.x] = c0 + threadIdx.x < cols ? x[c0 + threadIdx.x] : 0.0f;
        __syncthreads();
        if (row < rows)
            for (int c = 0; c < 128 && c0 + c < cols; c++) sum += a[row * cols + c0 + c] * xs[c];
        __syncthreads();
    }
    if (row < rows) y[row] = sum;
}

extern "C" __global__ void gemv_warp(const float *a, const float *x, float *y, int rows, int cols) {
    int row = (blockIdx.x * blockDim.x + threadIdx.x) / 32, lane = threadIdx.x % 32;
    if (row >= rows) return;
    float sum = 0;
    for (int c = lane; c < cols; c += 32) sum += a[row * cols + c] * x[c];
    for (int o = 16; o; o /= 2) sum += __shfl_down_sync(0xffffffff, sum, o);
    if (lane == 0) y[row] = sum;
}

extern "C" __global__ void lu_diagonal(float *m, int n, int offset) {
    __shared__ float s[16][16];
    int at = offset * n + offset, t = threadIdx.x;
    for (int i = 0; i < 16; i++) {
        s[i][t] = m[at + t];
        at += n;
    }
    __syncthreads();
    for (int i = 0; i < 15; i++) {
        if (t > i) {
            for (int j = 0; j < i; j++) s[t][i] -= s[t][j] * s[j][i];
            s[t][i] /= s[i][i];
        }
        __syncthreads();
        if (t > i)
            for (int j = 0; j < i + 1; j++) s[i + 1][t] -= s[i + 1][j] * s[j][t];
        __syncthreads();
    }
    at = (offset + 1) * n + offset;
    for (int i = 1; i < 16; i++) {
        m[at + t] = s[i][t];
        at += n;
    }
}

extern "C" __global__ void gauss_step(float *m, float *a, float *b, int size, int t) {
    int x = blockIdx.x * blockDim.x + threadIdx.x, y = blockIdx.y * blockDim.y + threadIdx.y;
    if (x >= size - 1 - t || y >= size - t) return;
    a[size * (x + 1 + t) + y + t] -= m[size * (x + 1 + t) + t] * a[size * t + y + t];
    if (y == 0) b[x + 1 + t] -= m[size * (x + 1 + t) + t] * b[t];
}

extern "C" __global__ void floyd(int *d, int n, int k) {
    __shared__ int through;
    int j = blockIdx.x * blockDim.x + threadIdx.x, i = blockIdx.y;
    if (j >= n) return;
    if (threadIdx.x == 0) through = d[i * n + k];
    __syncthreads();
    int path = through + d[k * n + j];
    if (path < d[i * n + j]) d[i * n + j] = path;
}

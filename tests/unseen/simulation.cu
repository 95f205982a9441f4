// Simulations on grids, solvers, graphs and random numbers.

extern "C" __global__ void lattice(const float *in, float *out, int width, int height) {
    int x = blockIdx.x * blockDim.x + threadIdx.x, y = blockIdx.y;
    if (x >= width) return;
    const int dx[5] = {0, 1, -1, 0, 0}, dy[5] = {0, 0, 0, 1, -1};
    int plane = width * height;
    float f[5], rho = 0;
#pragma unroll
    for (int k = 0; k < 5; k++) {
        int from = (y - dy[k] + height) % height * width + (x - dx[k] + width) % width;
        rho += f[k] = in[k * plane + from];
    }
#pragma unroll
    for (int k = 0; k < 5; k++) out[k * plane + y * width + x] = f[k] + 0.6f * (rho * (k ? 0.125f : 0.5f) - f[k]);
}

extern "C" __global__ void red_black(float *grid, int n, int colour) {
    int y = blockIdx.y * blockDim.y + threadIdx.y + 1;
    int x = 2 * (blockIdx.x * blockDim.x + threadIdx.x) + 1 + ((y + colour) & 1);
    if (x < n - 1 && y < n - 1)
        grid[y * n + x] = 0.25f * (grid[y * n + x - 1] + grid[y * n + x + 1] + grid[(y - 1) * n + x] + grid[(y + 1) * n + x]);
}

extern "C" __global__ void ising(signed char *spins, const float *random, int n, int colour, float beta) {
    int i = blockIdx.x * blockDim.x + threadIdx.x;
    if (i >= n * n / 2) return;
    int y = 2 * i / n, x = 2 * i % n + ((y ^ colour) & 1);
    int sum = spins[y * n + (x + 1) % n] + spins[y * n + (x + n - 1) % n] + spins[(y + 1) % n * n + x] +
              spins[(y + n - 1) % n * n + x];
    int energy = 2 * spins[y * n + x] * sum;
    if (energy <= 0 || random[i] < __expf(-beta * energy)) spins[y * n + x] = -spins[y * n + x];
}

extern "C" __global__ void thomas(const float *a, const float *b, const float *c, float *d, float *work, int n, int systems) {
    int s = blockIdx.x * blockDim.x + threadIdx.x;
    if (s >= systems) return;
    float last_c = c[s] / b[s], last_d = d[s] / b[s];
    work[s] = last_c, d[s] = last_d;
    for (int i = 1; i < n; i++) {
        int at = i * systems + s;
        float m = 1 / (b[at] - a[at] * last_c);
        last_c = c[at] * m, last_d = (d[at] - a[at] * last_d) * m;
        work[at] = last_c, d[at] = last_d;
    }
    for (int i = n - 2; i >= 0; i--) d[i * systems + s] = last_d = d[i * systems + s] - work[i * systems + s] * last_d;
}

extern "C" __global__ void cyclic_reduction(const float *a, const float *b, const float *c, float *d) {
    __shared__ float sa[128], sb[128], sc[128], sd[128];
    int t = threadIdx.x, base = blockIdx.x * 128;
    sa[t] = a[base + t], sb[t] = b[base + t] + 4, sc[t] = c[base + t], sd[t] = d[base + t];
    for (int step = 1; step < 128; step *= 2) {
        __syncthreads();
        int low = max(t - step, 0), high = min(t + step, 127);
        float k1 = t >= step ? sa[t] / sb[low] : 0, k2 = t + step < 128 ? sc[t] / sb[high] : 0;
        float na = -sa[low] * k1, nb = sb[t] - sc[low] * k1 - sa[high] * k2;
        float nc = -sc[high] * k2, nd = sd[t] - sd[low] * k1 - sd[high] * k2;
        __syncthreads();
        sa[t] = na, sb[t] = nb, sc[t] = nc, sd[t] = nd;
    }
    d[base + t] = sd[t] / sb[t];
}

struct Vertex {
    double x, y, z;
    int flags, owner;
};

extern "C" __global__ void move_vertices(Vertex *vertices, const double *shift, int n) {
    int i = blockIdx.x * blockDim.x + threadIdx.x;
    if (i >= n) return;
    Vertex v = vertices[i];
    if (v.flags & 1) {
        v.x += shift[0], v.y += shift[1], v.z += shift[2];
        vertices[i] = v;
    }
}

extern "C" __global__ void cell_forces(const float2 *points, const int *start, float2 *force, int side) {
    int cell = blockIdx.x, cx = cell % side, cy = cell / side;
    for (int i = start[cell] + threadIdx.x; i < start[cell + 1]; i += blockDim.x) {
        float2 p = points[i], f = make_float2(0, 0);
        for (int ny = max(cy - 1, 0); ny <= min(cy + 1, side - 1); ny++)
            for (int nx = max(cx - 1, 0); nx <= min(cx + 1, side - 1); nx++)
                for (int j = start[ny * side + nx]; j < start[ny * side + nx + 1]; j++) {
                    float dx = points[j].x - p.x, dy = points[j].y - p.y, r = dx * dx + dy * dy + 0.01f;
                    f.x += dx / r, f.y += dy / r;
                }
        force[i] = f;
    }
}

extern "C" __global__ void wave(const double *now, const double *before, double *after, int n) {
    __shared__ double tile[10][34];
    int x = blockIdx.x * 32 + threadIdx.x + 1, y = blockIdx.y * 8 + threadIdx.y + 1, at = y * n + x;
    int tx = threadIdx.x + 1, ty = threadIdx.y + 1;
    bool inside = x < n - 1 && y < n - 1;
    if (x < n && y < n) {
        tile[ty][tx] = now[at];
        if (tx == 1) tile[ty][0] = now[at - 1];
        if (ty == 1) tile[0][tx] = now[at - n];
        if (tx == 32 && x + 1 < n) tile[ty][33] = now[at + 1];
        if (ty == 8 && y + 1 < n) tile[9][tx] = now[at + n];
    }
    __syncthreads();
    if (inside)
        after[at] = 2 * tile[ty][tx] - before[at] +
                    0.2 * (tile[ty][tx - 1] + tile[ty][tx + 1] + tile[ty - 1][tx] + tile[ty + 1][tx] - 4 * tile[ty][tx]);
}

extern "C" __global__ void page_rank(const int *start, const int *from, const float *rank, const int *degree, float *out, int n) {
    int v = (blockIdx.x * blockDim.x + threadIdx.x) / 8, lane = threadIdx.x % 8;
    if (v >= n) return;
    float sum = 0;
    for (int e = start[v] + lane; e < start[v + 1]; e += 8) sum += rank[from[e]] / (degree[from[e]] + 1);
    unsigned int mask = 0xffu << (threadIdx.x & 24);
    for (int o = 4; o; o /= 2) sum += __shfl_down_sync(mask, sum, o, 8);
    if (lane == 0) out[v] = 0.15f / n + 0.85f * sum;
}

extern "C" __global__ void relax(const int *start, const int *to, const int *weight, const int *distance, int *next, int n) {
    int v = blockIdx.x * blockDim.x + threadIdx.x;
    if (v >= n) return;
    int d = distance[v];
    for (int e = start[v]; e < start[v + 1]; e++) atomicMin(&next[to[e]], d + weight[e]);
}

extern "C" __global__ void degrees(const int2 *edges, unsigned int *degree, int n) {
    __shared__ unsigned int local[512];
    for (int i = threadIdx.x; i < 512; i += blockDim.x) local[i] = 0;
    __syncthreads();
    for (int i = blockIdx.x * blockDim.x + threadIdx.x; i < n; i += gridDim.x * blockDim.x) {
        int2 e = edges[i];
        atomicAdd(&local[e.x], 1);
        atomicAdd(&local[e.y], 1);
    }
    __syncthreads();
    for (int i = threadIdx.x; i < 512; i += blockDim.x)
        if (local[i]) atomicAdd(&degree[i], local[i]);
}

extern "C" __global__ void xorshift(uint4 *state, float2 *normal, int rounds) {
    int i = blockIdx.x * blockDim.x + threadIdx.x;
    uint4 s = state[i];
    float2 sum = make_float2(0, 0);
    for (int r = 0; r < rounds; r++) {
        unsigned int t = s.x ^ s.x << 11;
        s.x = s.y, s.y = s.z, s.z = s.w, s.w ^= s.w >> 19 ^ t ^ t >> 8;
        float u = (s.w >> 8) * 5.9604645e-8f + 2.98e-8f, v = (s.z >> 8) * 5.9604645e-8f;
        float radius = sqrtf(-2 * __logf(u));
        sum.x += radius * __cosf(6.2831853f * v), sum.y += radius * __sinf(6.2831853f * v);
    }
    state[i] = s, normal[i] = sum;
}

extern "C" __global__ void covariance(const float *data, float *out, int rows, int columns) {
    __shared__ float a[16][33], b[16][33];
    int i = blockIdx.y * 16 + threadIdx.y, j = blockIdx.x * 16 + threadIdx.x;
    if (blockIdx.x < blockIdx.y) return;
    float sum = 0;
    for (int r = 0; r < rows; r += 32) {
        for (int k = threadIdx.x; k < 32; k += 16) {
            bool in = r + k < rows;
            a[threadIdx.y][k] = in ? data[(r + k) * columns + i] : 0;
            b[threadIdx.y][k] = in ? data[(r + k) * columns + blockIdx.x * 16 + threadIdx.y] : 0;
        }
        __syncthreads();
        for (int k = 0; k < 32; k++) sum += a[threadIdx.y][k] * b[threadIdx.x][k];
        __syncthreads();
    }
    out[i * columns + j] = sum, out[j * columns + i] = sum;
}

extern "C" __global__ void merge_path(const int *a, const int *b, int *out, int n, int m) {
    __shared__ int sa[256], sb[256];
    for (int i = threadIdx.x; i < 256; i += blockDim.x) {
        sa[i] = i < n ? a[i] : 2147483647;
        sb[i] = i < m ? b[i] : 2147483647;
    }
    __syncthreads();
    int diagonal = threadIdx.x * 4, low = max(0, diagonal - m), high = min(diagonal, n);
    while (low < high) {
        int middle = (low + high) / 2;
        if (sa[middle] <= sb[diagonal - 1 - middle]) low = middle + 1;
        else high = middle;
    }
    int i = low, j = diagonal - low;
    for (int k = diagonal; k < diagonal + 4 && k < n + m; k++) {
        bool left = j >= m || (i < n && sa[i] <= sb[j]);
        out[k] = left ? sa[i] : sb[j];
        if (left) i++;
        else j++;
    }
}

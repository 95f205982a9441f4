// Sorting, graphs, sequences, sparse rows.

extern "C" __global__ void bitonic(unsigned int *keys, unsigned int *values) {
    __shared__ unsigned int k[512], v[512];
    int t = threadIdx.x;
    keys += blockIdx.x * 512 + t;
    values += blockIdx.x * 512 + t;
    k[t] = keys[0];
    v[t] = values[0];
    k[t + 256] = keys[256];
    v[t + 256] = values[256];
    for (unsigned int size = 2; size <= 512; size <<= 1) {
        bool up = (t & (size / 2)) == 0;
        for (unsigned int stride = size / 2; stride > 0; stride >>= 1) {
            __syncthreads();
            unsigned int p = 2 * t - (t & (stride - 1));
            if ((k[p] > k[p + stride]) == up) {
                unsigned int x = k[p];
                k[p] = k[p + stride];
                k[p + stride] = x;
                x = v[p];
                v[p] = v[p + stride];
                v[p + stride] = x;
            }
        }
    }
    __syncthreads();
    keys[0] = k[t];
    values[0] = v[t];
    keys[256] = k[t + 256];
    values[256] = v[t + 256];
}

extern "C" __global__ void odd_even(int *data) {
    __shared__ int s[128];
    int t = threadIdx.x;
    s[t] = data[blockIdx.x * 128 + t];
    __syncthreads();
    for (int phase = 0; phase < 128; phase++) {
        int i = 2 * (t % 64) + (phase & 1);
        if (t < 64 && i + 1 < 128 && s[i] > s[i + 1]) {
            int x = s[i];
            s[i] = s[i + 1];
            s[i + 1] = x;
        }
        __syncthreads();
    }
    data[blockIdx.x * 128 + t] = s[t];
}

extern "C" __global__ void rank_sort(const float *in, float *out, int n) {
    int i = blockIdx.x * blockDim.x + threadIdx.x;
    if (i >= n) return;
    float mine = in[i];
    int rank = 0;
    for (int j = 0; j < n; j++) rank += in[j] < mine || (in[j] == mine && j < i);
    out[rank] = mine;
}

extern "C" __global__ void radix_counts(const unsigned int *keys, unsigned int *counts, int n, int shift) {
    __shared__ unsigned int digit[16];
    int t = threadIdx.x, i = blockIdx.x * blockDim.x + t;
    if (t < 16) digit[t] = 0;
    __syncthreads();
    unsigned int mine = i < n ? keys[i] >> shift & 15 : 16;
    for (unsigned int d = 0; d < 16; d++) {
        unsigned int who = __ballot_sync(0xffffffff, mine == d);
        if (t % 32 == 0 && who) atomicAdd(&digit[d], __popc(who));
    }
    __syncthreads();
    if (t < 16) counts[blockIdx.x * 16 + t] = digit[t];
}

extern "C" __global__ void binary_search(const int *sorted, const int *wanted, int *place, int n, int m) {
    int i = blockIdx.x * blockDim.x + threadIdx.x;
    if (i >= m) return;
    int low = 0, high = n;
    while (low < high) {
        int middle = (low + high) / 2;
        if (sorted[middle] < wanted[i]) low = middle + 1;
        else high = middle;
    }
    place[i] = low;
}

extern "C" __global__ void spmv_scalar(const int *start, const int *column, const float *value, const float *x, float *y, int rows) {
    int row = blockIdx.x * blockDim.x + threadIdx.x;
    if (row >= rows) return;
    float sum = 0;
    for (int i = start[row]; i < start[row + 1]; i++) sum += value[i] * x[column[i]];
    y[row] = sum;
}

extern "C" __global__ void spmv_vector(const int *start, const int *column, const float *value, const float *x, float *y, int rows) {
    __shared__ volatile float part[128];
    int row = (blockIdx.x * 128 + threadIdx.x) / 32, lane = threadIdx.x & 31;
    if (row >= rows) return;
    float sum = 0;
    for (int i = start[row] + lane; i < start[row + 1]; i += 32) sum += value[i] * x[column[i]];
    part[threadIdx.x] = sum;
    __syncwarp();
    for (int o = 16; o; o >>= 1) {
        if (lane < o) part[threadIdx.x] += part[threadIdx.x + o];
        __syncwarp();
    }
    if (lane == 0) y[row] = part[threadIdx.x];
}

extern "C" __global__ void spmv_ell(const int *column, const double *value, const double *x, double *y, int rows, int width) {
    int row = blockIdx.x * blockDim.x + threadIdx.x;
    if (row >= rows) return;
    double sum = 0;
    for (int k = 0; k < width; k++) {
        int c = column[k * rows + row];
        if (c >= 0) sum += value[k * rows + row] * x[c];
    }
    y[row] = sum;
}

struct Node {
    int start, edges;
};

extern "C" __global__ void bfs_step(const Node *nodes, const int *edges, const bool *frontier, bool *updating, const bool *visited, int *cost, int n) {
    int t = blockIdx.x * blockDim.x + threadIdx.x;
    if (t < n && frontier[t])
        for (int i = nodes[t].start; i < nodes[t].start + nodes[t].edges; i++) {
            int id = edges[i];
            if (!visited[id]) {
                cost[id] = cost[t] + 1;
                updating[id] = true;
            }
        }
}

extern "C" __global__ void pathfinder(const int *wall, const int *source, int *result, int cols, int rows) {
    __shared__ int previous[256], next[256];
    int t = threadIdx.x, x = blockIdx.x * (256 - 2 * rows) - rows + t;
    bool valid = x >= 0 && x < cols;
    if (valid) previous[t] = source[x];
    __syncthreads();
    bool computed = false;
    for (int i = 0; i < rows; i++) {
        computed = false;
        if (t >= i + 1 && t <= 254 - i && valid) {
            computed = true;
            int left = previous[x > 0 ? t - 1 : t], up = previous[t], right = previous[x < cols - 1 ? t + 1 : t];
            next[t] = min(min(left, up), right) + wall[cols * i + x];
        }
        __syncthreads();
        if (i == rows - 1) break;
        if (computed) previous[t] = next[t];
        __syncthreads();
    }
    if (computed) result[x] = next[t];
}

// One tile of 16 x 16 cells of an alignment, cell by cell along its diagonals; the blocks lie on the long one.
extern "C" __global__ void needleman(const int *reference, int *scores, int cols, int penalty) {
    __shared__ int temp[17][17], ref[16][16];
    int tx = threadIdx.x, base = cols * 16 * (gridDim.x - 1 - blockIdx.x) + 16 * blockIdx.x;
    if (tx == 0) temp[0][0] = scores[base];
    for (int y = 0; y < 16; y++) ref[y][tx] = reference[base + cols * (y + 1) + tx + 1];
    __syncthreads();
    temp[tx + 1][0] = scores[base + cols * (tx + 1)];
    __syncthreads();
    temp[0][tx + 1] = scores[base + tx + 1];
    __syncthreads();
    for (int m = 0; m < 16; m++) {
        if (tx <= m) {
            int x = tx + 1, y = m - tx + 1;
            temp[y][x] = max(temp[y - 1][x - 1] + ref[y - 1][x - 1], max(temp[y][x - 1], temp[y - 1][x]) - penalty);
        }
        __syncthreads();
    }
    for (int m = 14; m >= 0; m--) {
        if (tx <= m) {
            int x = tx + 16 - m, y = 16 - tx;
            temp[y][x] = max(temp[y - 1][x - 1] + ref[y - 1][x - 1], max(temp[y][x - 1], temp[y - 1][x]) - penalty);
        }
        __syncthreads();
    }
    for (int y = 0; y < 16; y++) scores[base + cols * (y + 1) + tx + 1] = temp[y + 1][tx + 1];
}

__constant__ unsigned int crc_table[16] = {
    0x00000000, 0x1db71064, 0x3b6e20c8, 0x26d930ac, 0x76dc4190, 0x6b6b51f4, 0x4db26158, 0x5005713c,
    0xedb88320, 0xf00f9344, 0xd6d6a3e8, 0xcb61b38c, 0x9b64c2b0, 0x86d3d2d4, 0xa00ae278, 0xbdbdf21c};

extern "C" __global__ void crc(const unsigned char *data, unsigned int *out, int length) {
    int i = blockIdx.x * blockDim.x + threadIdx.x;
    unsigned int c = ~0u;
    for (int k = 0; k < length; k++) {
        c = crc_table[(c ^ data[i * length + k]) & 15] ^ (c >> 4);
        c = crc_table[(c ^ (data[i * length + k] >> 4)) & 15] ^ (c >> 4);
    }
    out[i] = ~c;
}

__constant__ char pattern[8] = {'a', 'b', 'a', 'c', 'a', 'b', 'a', 'd'};

extern "C" __global__ void string_search(const char *text, int *found, int n) {
    __shared__ char s[256 + 8];
    int t = threadIdx.x, i = blockIdx.x * 256 + t;
    s[t] = i < n ? text[i] : 0;
    if (t < 8) s[256 + t] = i + 256 < n ? text[i + 256] : 0;
    __syncthreads();
    int k = 0;
    while (k < 8 && s[t + k] == pattern[k]) k++;
    if (i < n) found[i] = k;
}

// The centres lie in shared memory, feature by feature.
extern "C" __global__ void kmeans(const float *points, const float *centres, int *member, int n, int k, int features) {
    __shared__ float c[16 * 8];
    for (int i = threadIdx.x; i < k * features; i += blockDim.x) c[i] = centres[i];
    __syncthreads();
    int p = blockIdx.x * blockDim.x + threadIdx.x;
    if (p >= n) return;
    float best = 3.4e38f;
    int index = -1;
    for (int i = 0; i < k; i++) {
        float d = 0;
        for (int f = 0; f < features; f++) {
            float x = points[f * n + p] - c[i * features + f];
            d += x * x;
        }
        if (d < best) {
            best = d;
            index = i;
        }
    }
    member[p] = index;
}

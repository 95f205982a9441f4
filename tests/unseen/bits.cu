// Bits, bytes and text.

extern "C" __global__ void count_bits(const unsigned *in, int *out, int words) {
    __shared__ int counts[100];
    int t = threadIdx.x, sum = 0;
    for (int i = blockIdx.x * blockDim.x + t; i < words; i += blockDim.x * gridDim.x) sum += __popc(in[i]);
    counts[t] = sum;
    __syncthreads();
    for (int width = 50; width > 0; width = width == 1 ? 0 : (width + 1) / 2) {
        int other = t + width;
        if (t < width && other < 100 && other < 2 * width) counts[t] += counts[other];
        __syncthreads();
    }
    if (t == 0) atomicAdd(out, counts[0]);
}

extern "C" __global__ void mark_bits(const int *in, unsigned *bits, int n) {
    __shared__ unsigned local[32];
    if (threadIdx.x < 32) local[threadIdx.x] = 0;
    __syncthreads();
    int i = blockIdx.x * blockDim.x + threadIdx.x;
    if (i < n) atomicOr(&local[in[i] >> 5 & 31], 1u << (in[i] & 31));
    __syncthreads();
    if (threadIdx.x < 32 && local[threadIdx.x]) atomicOr(&bits[threadIdx.x], local[threadIdx.x]);
}

extern "C" __global__ void sieve(unsigned char *composite, int n) {
    int p = 2 + blockIdx.x * blockDim.x + threadIdx.x;
    if (p * p >= n || composite[p]) return;
    for (int m = p * p; m < n; m += p) composite[m] = 1;
}

extern "C" __global__ void upper_case(char *text, int n) {
    for (int i = blockIdx.x * blockDim.x + threadIdx.x; i < n; i += gridDim.x * blockDim.x)
        if (text[i] >= 'a' && text[i] <= 'z') text[i] -= 32;
}

extern "C" __global__ void swap_bytes(const uint4 *in, uint4 *out, int n) {
    int i = blockIdx.x * blockDim.x + threadIdx.x;
    if (i >= n) return;
    uint4 v = in[i];
    v.x = __byte_perm(v.x, 0, 0x0123), v.y = __byte_perm(v.y, 0, 0x0123);
    v.z = __byte_perm(v.z, 0, 0x0123), v.w = __byte_perm(v.w, 0, 0x0123);
    out[i] = v;
}

extern "C" __global__ void hash_words(const uint2 *in, unsigned *out, int n) {
    int i = blockIdx.x * blockDim.x + threadIdx.x;
    if (i >= n) return;
    unsigned h = 0x9747b28c;
    for (int k = 0; k < 4; k++) {
        uint2 w = in[i * 4 + k];
        unsigned each[2] = {w.x, w.y};
        for (int j = 0; j < 2; j++) {
            unsigned v = each[j] * 0xcc9e2d51u;
            v = (v << 15) | (v >> 17);
            h ^= v * 0x1b873593u;
            h = ((h << 13) | (h >> 19)) * 5 + 0xe6546b64u;
        }
    }
    out[i] = h ^ (h >> 16);
}

extern "C" __global__ void insert_keys(const int *keys, int *table, int slots, int n) {
    int i = blockIdx.x * blockDim.x + threadIdx.x;
    if (i >= n) return;
    unsigned at = keys[i] * 2654435761u % slots;
    while (true) {
        int old = atomicCAS(&table[at], 0, keys[i]);
        if (old == 0 || old == keys[i]) return;
        at = (at + 1) % slots;
    }
}

extern "C" __global__ void find_keys(const int *keys, const int *table, int *out, int slots, int n) {
    int i = blockIdx.x * blockDim.x + threadIdx.x;
    if (i >= n) return;
    unsigned at = keys[i] % slots;
    int steps = 0;
    while (table[at] != 0 && table[at] != keys[i] && steps < slots) at = (at + 1) % slots, steps++;
    out[i] = table[at] == keys[i] ? (int)at : -1;
}

extern "C" __global__ void bit_reverse(const float2 *in, float2 *out, int bits) {
    int i = blockIdx.x * blockDim.x + threadIdx.x;
    out[__brev(i) >> (32 - bits)] = in[i];
}

extern "C" __global__ void life_bits(const unsigned *in, unsigned *out, int words, int rows) {
    int x = blockIdx.x * blockDim.x + threadIdx.x, y = blockIdx.y * blockDim.y + threadIdx.y;
    if (x >= words || y >= rows) return;
    unsigned made = 0;
    for (int bit = 0; bit < 32; bit++) {
        int neighbours = 0;
        for (int dy = -1; dy <= 1; dy++)
            for (int dx = -1; dx <= 1; dx++) {
                if (!dx && !dy) continue;
                int column = x * 32 + bit + dx, row = (y + dy + rows) % rows;
                column = (column + words * 32) % (words * 32);
                neighbours += in[row * words + column / 32] >> (column % 32) & 1;
            }
        unsigned alive = in[y * words + x] >> bit & 1;
        made |= (unsigned)(neighbours == 3 || (alive && neighbours == 2)) << bit;
    }
    out[y * words + x] = made;
}

extern "C" __global__ void keep_positive(const int *in, int *out, int *count, int n) {
    int i = blockIdx.x * blockDim.x + threadIdx.x, lane = threadIdx.x & 31;
    int value = i < n ? in[i] : 0;
    unsigned kept = __ballot_sync(~0u, value > 40);
    int base = 0;
    if (lane == 0) base = atomicAdd(count, __popc(kept));
    base = __shfl_sync(~0u, base, 0);
    if (value > 40) out[base + __popc(kept & ((1u << lane) - 1))] = value;
}

extern "C" __global__ void split_by_bit(int *data, int bit) {
    __shared__ int totals[8], sorted[256];
    int t = threadIdx.x, lane = t & 31, warp = t >> 5, value = data[blockIdx.x * 256 + t];
    bool one = value >> bit & 1;
    unsigned zeros = __ballot_sync(~0u, !one);
    if (lane == 0) totals[warp] = __popc(zeros);
    __syncthreads();
    int before = 0, all = 0;
    for (int w = 0; w < 8; w++) {
        if (w < warp) before += totals[w];
        all += totals[w];
    }
    int rank = before + __popc(zeros & ((1u << lane) - 1));
    sorted[one ? all + t - rank : rank] = value;
    __syncthreads();
    data[blockIdx.x * 256 + t] = sorted[t];
}

extern "C" __global__ void rotate_schedule(const unsigned *in, unsigned *out, int rounds) {
    unsigned w[16];
    int i = blockIdx.x * blockDim.x + threadIdx.x;
    for (int k = 0; k < 16; k++) w[k] = in[i * 16 + k];
    for (int r = 0; r < rounds; r++) {
        unsigned v = w[(r + 1) & 15] ^ w[(r + 9) & 15];
        w[r & 15] += (v >> 7 | v << 25) ^ v >> 3;
    }
    for (int k = 0; k < 16; k++) out[k * gridDim.x * blockDim.x + i] = w[k];
}

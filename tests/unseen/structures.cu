// Structures, doubles and vectors of numbers.
struct Complex { float re, im; };
struct Vector { float x, y, z; };
struct Pixel { unsigned char r, g, b; };
struct Body { double x, y; float mass; int group; };
struct alignas(16) Ray { float ox, oy, oz, dx, dy, dz; };

extern "C" __global__ void multiply_complex(const Complex *a, const Complex *b, Complex *out, int n) {
    int i = blockIdx.x * blockDim.x + threadIdx.x;
    if (i < n) out[i] = {a[i].re * b[i].re - a[i].im * b[i].im, a[i].re * b[i].im + a[i].im * b[i].re};
}

extern "C" __global__ void normalise(Vector *v, int n) {
    int i = blockIdx.x * blockDim.x + threadIdx.x;
    if (i >= n) return;
    float length = rsqrtf(v[i].x * v[i].x + v[i].y * v[i].y + v[i].z * v[i].z);
    v[i].x *= length, v[i].y *= length, v[i].z *= length;
}

extern "C" __global__ void cross_shared(const Vector *a, Vector *out, int n) {
    __shared__ Vector tile[130];
    int i = blockIdx.x * 128 + threadIdx.x;
    for (int k = threadIdx.x; k < 130; k += 128) tile[k] = a[min(blockIdx.x * 128 + k, n - 1)];
    __syncthreads();
    if (i >= n) return;
    Vector p = tile[threadIdx.x + 1], q = tile[threadIdx.x + 2];
    out[i] = {p.y * q.z - p.z * q.y, p.z * q.x - p.x * q.z, p.x * q.y - p.y * q.x};
}

extern "C" __global__ void apply_matrices(const float *matrices, const float3 *in, float3 *out, int n) {
    int i = blockIdx.x * blockDim.x + threadIdx.x;
    if (i >= n) return;
    float m[9];
    for (int k = 0; k < 9; k++) m[k] = matrices[i * 9 + k];
    float3 v = in[i];
    out[i] = make_float3(m[0] * v.x + m[1] * v.y + m[2] * v.z, m[3] * v.x + m[4] * v.y + m[5] * v.z,
                         m[6] * v.x + m[7] * v.y + m[8] * v.z);
}

extern "C" __global__ void blend(const uchar4 *a, const uchar4 *b, uchar4 *out, int alpha, int n) {
    int i = blockIdx.x * blockDim.x + threadIdx.x;
    if (i >= n) return;
    uchar4 p = a[i], q = b[i];
    out[i] = make_uchar4(p.x + (q.x - p.x) * alpha / 256, p.y + (q.y - p.y) * alpha / 256,
                         p.z + (q.z - p.z) * alpha / 256, 255);
}

extern "C" __global__ void hue(const Pixel *in, float *out, int n) {
    int i = blockIdx.x * blockDim.x + threadIdx.x;
    if (i >= n) return;
    Pixel p = in[i];
    int high = max(p.r, max(p.g, p.b)), low = min(p.r, min(p.g, p.b));
    float h = 0;
    if (high != low) {
        float range = high - low;
        if (high == p.r) h = (p.g - p.b) / range;
        else if (high == p.g) h = 2 + (p.b - p.r) / range;
        else h = 4 + (p.r - p.g) / range;
    }
    out[i] = h < 0 ? h * 60 + 360 : h * 60;
}

extern "C" __global__ void mass_by_group(const Body *bodies, double *centres, float *masses, int n) {
    int i = blockIdx.x * blockDim.x + threadIdx.x;
    if (i >= n) return;
    Body b = bodies[i];
    int g = b.group & 7;
    atomicAdd(&centres[2 * g], b.x * b.mass);
    atomicAdd(&centres[2 * g + 1], b.y * b.mass);
    atomicAdd(&masses[g], b.mass);
}

__constant__ float4 spheres[20] = {{0, 0, 5, 1}, {1, 0, 6, 1}, {0, 2, 7, 2}, {3, 0, 9, 1}, {0, 0, 20, 3}};

extern "C" __global__ void hit_spheres(const Ray *rays, float *out, int n) {
    int i = blockIdx.x * blockDim.x + threadIdx.x;
    if (i >= n) return;
    Ray r = rays[i];
    float nearest = 1e30f;
    for (int s = 0; s < 20; s++) {
        float4 c = spheres[s];
        float x = c.x - r.ox, y = c.y - r.oy, z = c.z - r.oz;
        float along = x * r.dx + y * r.dy + z * r.dz;
        float apart = x * x + y * y + z * z - along * along;
        if (apart < c.w * c.w && along < nearest) nearest = along;
    }
    out[i] = nearest;
}

extern "C" __global__ void norm_double(const double *in, double *out, int n) {
    double sum = 0;
    for (int i = blockIdx.x * blockDim.x + threadIdx.x; i < n; i += gridDim.x * blockDim.x) sum += in[i] * in[i];
    for (int d = 16; d > 0; d /= 2) sum += __shfl_down_sync(~0u, sum, d);
    if (threadIdx.x % 32 == 0) atomicAdd(out, sum);
}

extern "C" __global__ void transpose_bytes(const unsigned char *in, unsigned char *out, int width) {
    __shared__ unsigned char tile[32][33];
    int x = blockIdx.x * 32 + threadIdx.x, y = blockIdx.y * 32 + threadIdx.y;
    for (int k = 0; k < 32; k += 8) tile[threadIdx.y + k][threadIdx.x] = in[(y + k) * width + x];
    __syncthreads();
    x = blockIdx.y * 32 + threadIdx.x, y = blockIdx.x * 32 + threadIdx.y;
    for (int k = 0; k < 32; k += 8) out[(y + k) * width + x] = tile[threadIdx.x][threadIdx.y + k];
}

extern "C" __global__ void transpose_pairs(const float2 *in, float2 *out, int width) {
    __shared__ float2 tile[16][17];
    int x = blockIdx.x * 16 + threadIdx.x, y = blockIdx.y * 16 + threadIdx.y;
    tile[threadIdx.y][threadIdx.x] = in[y * width + x];
    __syncthreads();
    out[(blockIdx.x * 16 + threadIdx.y) * width + blockIdx.y * 16 + threadIdx.x] = tile[threadIdx.x][threadIdx.y];
}

extern "C" __global__ void best_of(const float *in, unsigned long long *best, int n) {
    int i = blockIdx.x * blockDim.x + threadIdx.x;
    unsigned long long mine = 0;
    if (i < n) mine = (unsigned long long)__float_as_uint(in[i]) << 32 | (unsigned)i;
    for (int d = 16; d; d >>= 1) {
        unsigned long long other = __shfl_xor_sync(~0u, mine, d);
        if (other > mine) mine = other;
    }
    if ((threadIdx.x & 31) == 0) atomicMax(best, mine);
}

extern "C" __global__ void goertzel(const double *in, double *out, int samples, int signals, float turn) {
    int s = blockIdx.x * blockDim.x + threadIdx.x;
    if (s >= signals) return;
    double now = 0, last = 0, before = 0;
    for (int k = 0; k < samples; k++) {
        now = in[k * signals + s] + turn * last - before;
        before = last, last = now;
    }
    out[s] = last * last + before * before - turn * last * before;
}

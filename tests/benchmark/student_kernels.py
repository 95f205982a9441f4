"""Kernels as students write them, whose threads do much: the benchmark says how many of their instructions a second the
emulator executes, with every counter and the search for races on."""

from __future__ import annotations

from dataclasses import dataclass

N_BODY = """extern "C" __global__ void f(const float4 *in, float4 *out, unsigned int n) {
    __shared__ float4 tile[128];
    unsigned int i = blockIdx.x * blockDim.x + threadIdx.x;
    float4 me = in[i];
    float x = 0, y = 0, z = 0;
    for (unsigned int start = 0; start < n; start += blockDim.x) {
        tile[threadIdx.x] = in[start + threadIdx.x];
        __syncthreads();
        for (int k = 0; k < 128; k++) {
            float dx = tile[k].x - me.x, dy = tile[k].y - me.y, dz = tile[k].z - me.z;
            float r = rsqrtf(dx * dx + dy * dy + dz * dz + 0.01f), s = tile[k].w * r * r * r;
            x += dx * s; y += dy * s; z += dz * s;
        }
        __syncthreads();
    }
    out[i] = make_float4(x, y, z, 0);
}"""
HISTOGRAM = """extern "C" __global__ void f(const int *in, int *out, unsigned int n) {
    __shared__ int bins[256];
    bins[threadIdx.x] = 0;
    __syncthreads();
    for (unsigned int i = blockIdx.x * blockDim.x + threadIdx.x; i < n; i += gridDim.x * blockDim.x)
        atomicAdd(&bins[in[i] & 255], 1);
    __syncthreads();
    atomicAdd(&out[threadIdx.x], bins[threadIdx.x]);
}"""
STENCIL = """extern "C" __global__ void f(const float *in, float *out, unsigned int w) {
    unsigned int x = blockIdx.x * blockDim.x + threadIdx.x, y = blockIdx.y * blockDim.y + threadIdx.y, i = y * w + x;
    if (x > 0 && y > 0 && x < w - 1 && y < w - 1)
        out[i] = 0.2f * (in[i] + in[i - 1] + in[i + 1] + in[i - w] + in[i + w]);
}"""
SCAN = """extern "C" __global__ void f(const int *in, int *out, unsigned int n) {
    __shared__ int s[2][256];
    int t = threadIdx.x, i = blockIdx.x * 256 + t, from = 0;
    s[0][t] = in[i];
    __syncthreads();
    for (int d = 1; d < 256; d *= 2) {
        s[1 - from][t] = t >= d ? s[from][t] + s[from][t - d] : s[from][t];
        from = 1 - from;
        __syncthreads();
    }
    out[i] = s[from][t];
}"""


@dataclass(frozen=True)
class StudentKernel:
    """A kernel f(in, out, number): elements of both arrays, and how it is launched.

    `least`: the goal in thread instructions a second.
    """

    name: str
    text: str
    dtype: str
    count: int
    out_count: int
    number: int
    grid: tuple[int, int, int]
    block: tuple[int, int, int]
    least: float = 50e6


def _n_body(bodies: int) -> StudentKernel:
    grid = (bodies // 128, 1, 1)
    return StudentKernel(
        f"n-body, {bodies:,} bodies", N_BODY, "float32", 4 * bodies, 4 * bodies, bodies, grid, (128, 1, 1)
    )


def _of_integers(name: str, text: str, n: int, out_count: int, blocks: int) -> StudentKernel:
    return StudentKernel(f"{name}, {n:,} numbers", text, "int32", n, out_count, n, (blocks, 1, 1), (256, 1, 1))


STUDENT_KERNELS = (
    _n_body(512),
    _n_body(4096),
    _of_integers("histogram", HISTOGRAM, 1 << 16, 256, 64),
    _of_integers("histogram", HISTOGRAM, 1 << 20, 256, 256),
    StudentKernel("stencil, 128 x 128", STENCIL, "float32", 1 << 14, 1 << 14, 128, (8, 8, 1), (16, 16, 1)),
    StudentKernel("stencil, 1,024 x 1,024", STENCIL, "float32", 1 << 20, 1 << 20, 1024, (64, 64, 1), (16, 16, 1)),
    _of_integers("scan", SCAN, 1 << 14, 1 << 14, 64),
    _of_integers("scan", SCAN, 1 << 20, 1 << 20, 4096),
)

"""The launch that is proposed for a file is the one that its own host code says."""

from __future__ import annotations

from math import prod

import numpy as np
import pytest

from engine.lab.checking import check_own
from engine.lab.host_launch import launch_in_text
from engine.lab.kernels import kernel
from engine.lab.setups import Setup, fit_setup, launching, propose_setup, setup_of
from engine.lab.structures import Element, element_of, mixed_element

pytestmark = pytest.mark.sampled(quick=3, thorough=2)

KERNEL = "__global__ void k(const float *a, float *b, int n) { }\n"
FILES = {
    "numbers": ("int main() { k<<<4, 64>>>(a, b, n); }", ((64,), 0)),
    "a macro": (
        "#define THREADS (2 * 64)\nint main() { k<<<n / THREADS, THREADS>>>(a, b, n); }",
        ((128,), 0),
    ),
    "a variable": ("int main() { int t = 32; k<<<n / t, t, t * sizeof(float)>>>(a, b, n); }", ((32,), 128)),
    "a dim3": ("const int T = 16;\nint main() { dim3 g(4, 4), t(T, T); k<<<g, t>>>(a, b, n); }", ((16, 16), 0)),
    "dim3s": (
        "const int T = 16;\nint main() { dim3 g(4, 4); dim3 t(T, T); k<<<g, t>>>(a, b, n); }",
        ((16, 16), 0),
    ),
    "assigned": ("int main() { dim3 t = dim3(8, 4, 1); k <<< 1, t >>> (a, b, n); }", ((8, 4), 0)),
    "in place": ("int main() { k<<<dim3(1, 2), dim3(8, 4, 2)>>>(a, b, n); }", ((8, 4, 2), 0)),
    "unknown": ("int main(int c, char **v) { int t = atoi(v[1]); k<<<1, t>>>(a, b, n); }", ((256,), 0)),
    "sides that the user gives": (
        "int main() { int t; std::cin >> t; dim3 b(t, t); k<<<1, b>>>(a, b, n); }",
        ((16, 16), 0),
    ),
    "given by a user, if at all": (
        "int main(int c, char **argv) { int t = 64; if (c > 1) t = atoi(argv[1]); k<<<1, t>>>(a, b, n); }",
        ((64,), 0),
    ),
    "too many": ("int main() { k<<<1, 2048>>>(a, b, n); }", None),
    "itself": ("int main() { int t = t; k<<<1, t>>>(a, b, n); }", None),
    "not launched": ("", None),
}


@pytest.mark.parametrize("name", FILES)
def test_a_block_is_read_off_the_launch(name: str) -> None:
    host, wanted = FILES[name]
    found = launch_in_text(KERNEL + host, "k")
    assert (found and (found.block, found.shared)) == wanted


def test_the_proposed_launch_fits_the_file() -> None:
    plane = propose_setup(KERNEL + FILES["dim3s"][0])
    assert plane.call == (
        "k<<<dim3((n + 15) / 16, (n + 15) / 16), dim3(16, 16)>>>(float32[n, n]=random, float32[n, n], n)"
    )
    text = "template <class A, int N> __global__ void k(A *a, A by) { __shared__ A s[N]; }\n"
    assert propose_setup(text + "int main() { k<double, 32><<<1, 32, 8>>>(a, 1); }").call == (
        "k<<<(n + block - 1) / block, 32, 8>>>(float64[n], 1)"
    )


ADD = "__global__ void add(int n, float *x, float *y) {\n  int i = blockIdx.x * blockDim.x + threadIdx.x;\n"
PROGRAMS = {
    "managed memory": (
        f"{ADD}  if (i < n) y[i] = x[i] + y[i];\n}}\nint main() {{\n  int N = 1<<12; float *x, *y;\n"
        "  cudaMallocManaged(&x, N*sizeof(float)); cudaMallocManaged(&y, N*sizeof(float));\n"
        "  for (int i = 0; i < N; i++) { x[i] = 1.0f; y[i] = 2.0f; }\n"
        "  int t = 256; int b = (N + t - 1) / t; add<<<b, t>>>(N, x, y);\n}\n",
        "add<<<16, 256>>>(4096, float32[4096]=1.0, float32[4096]=2.0)",
    ),
    "one block": (
        "__global__ void turn(int *d, int n) {\n  extern __shared__ int s[];\n  int t = threadIdx.x;\n"
        "  s[t] = d[t]; __syncthreads(); d[t] = s[n - t - 1];\n}\n"
        "int main() {\n  const int n = 64; int a[n]; int *d_d;\n"
        "  for (int i = 0; i < n; i++) a[i] = i;\n  CHECK(cudaMalloc((void **)&d_d, n * sizeof(int)));\n"
        "  cudaMemcpy(d_d, a, n * sizeof(int), cudaMemcpyHostToDevice);\n  turn<<<1, n, n*sizeof(int)>>>(d_d, n);\n}\n",
        "turn<<<1, 64, 256>>>(int32[64]=range, 64)",
    ),
    "tiles with fewer rows": (
        "const int TILE = 32, ROWS = 8;\n__global__ void copy(float *out, const float *in) {\n"
        "  int x = blockIdx.x * TILE + threadIdx.x, y = blockIdx.y * TILE + threadIdx.y, w = gridDim.x * TILE;\n"
        "  for (int j = 0; j < TILE; j += ROWS) out[(y + j) * w + x] = in[(y + j) * w + x];\n}\n"
        "int main() {\n  const int nx = 64, ny = 64; const int size = nx*ny*sizeof(float);\n"
        "  dim3 grid(nx/TILE, ny/TILE, 1), block(TILE, ROWS, 1);\n  float *in, *out; cudaMalloc(&in, size);\n"
        "  cudaMalloc(&out, size); cudaMemcpy(in, h, size, cudaMemcpyHostToDevice);\n"
        "  copy<<<grid, block>>>(out, in);\n}\n",
        "copy<<<dim3(2, 2), dim3(32, 8)>>>(float32[4096], float32[4096]=random)",
    ),
    "a matrix too large for the emulator": (
        "__global__ void product(const float *A, float *C, int n) {\n  int r = blockIdx.y * blockDim.y + threadIdx.y, "
        "c = blockIdx.x * blockDim.x + threadIdx.x;\n  float s = 0; for (int k = 0; k < n; k++) s += A[r * n + k];\n"
        "  if (c < n) C[r * n + c] = s;\n}\nint main() {\n  int N = 4096; size_t bytes = N * N * sizeof(float);\n"
        "  float *a, *c; gpuErrchk(cudaMalloc(&a, bytes)); gpuErrchk(cudaMalloc(&c, bytes));\n"
        "  for (int i = 0; i < N * N; i++) h[i] = rand();\n  cudaMemcpy(a, h, bytes, cudaMemcpyHostToDevice);\n"
        "  dim3 t(16, 16), b(N / t.x, (int)ceil((float)N / t.y)); product<<<b, t>>>(a, c, N);\n}\n",
        "product<<<dim3(16, 16), dim3(16, 16)>>>(float32[65536]=random, float32[65536], 256)",
    ),
    "a macro's size and a lesser of two": (
        "#define imin(a, b) (a < b ? a : b)\n#define N (33 * 64)\n__global__ void dot(float *a, float *c) {\n"
        "  if (threadIdx.x == 0) c[blockIdx.x] = a[N - 1];\n}\nconst int T = 64;\n"
        "const int B = imin(32, (N + T - 1) / T);\nint main() {\n  double unused; float *a, *c;\n"
        "  HANDLE(cudaMalloc((void **)&a, N * sizeof(float)));\n  HANDLE(cudaMalloc((void **)&c, B * sizeof(float)));\n"
        "  fill(h, N); cudaMemcpy(a, h, N, cudaMemcpyHostToDevice);\n  dot<<<B, T>>>(a, c);\n}\n",
        "dot<<<32, 64>>>(float32[2112]=random, float32[32])",
    ),
}  # fmt: skip


@pytest.mark.sampled(quick=5, thorough=2)
@pytest.mark.parametrize("name", PROGRAMS)
def test_a_program_s_own_launch_is_proposed_and_runs_clean(name: str) -> None:
    text, call = PROGRAMS[name]
    setup = propose_setup(text)
    line = text.count("\n", 0, text.index("<<<")) + 1
    assert setup.call == call and setup.assumed.startswith(f"Launched as in line {line}")
    assert ("N = 256 in place of 4,096" in setup.assumed) == ("product" in call)
    assert check_own(setup, 1, text, "mine.cu").measurement.status == "ok"


def test_an_array_that_a_kernel_reads_is_never_proposed_with_zeros() -> None:
    text = "__global__ void k(float *a, float *b, float *c, int *d) { b[0] = a[0]; c[0] += 2; atomicAdd(&d[1], 1); }\n"
    assert [word.partition("=")[2] for word in propose_setup(text).arguments] == ["random", "", "", ""]
    text = "__global__ void k(int *a, int *b) { int *own = a + 1; own[0] += own[1]; int *to = &b[1]; *to = 1; }"
    assert [word.partition("=")[2] for word in propose_setup(text).arguments] == ["random", ""]


def test_a_renamed_kernel_keeps_its_launch() -> None:
    text = "__global__ void k(const float *a, float *b, int n) { }\n"
    mine = Setup("k", ("7",), ("64",), ("float32[9]=ones", "float32[9]=zeros", "9"), "1024")
    for name in ("kk", ""):
        renamed = fit_setup(mine, text.replace("void k(", f"void {name}("))
        assert renamed == Setup(name or "void", mine.grid, mine.block, mine.arguments, mine.shared)
        assert fit_setup(renamed, text) == mine
    for other in ("const int *a, float *b, int n", "const float *a, float *b"):
        changed = text.replace("void k(const float *a, float *b, int n", f"void m({other}")
        assert fit_setup(mine, changed) == propose_setup(changed)


@pytest.mark.parametrize("piece", ["k<<<1, ", "t = t;", "k<", "#define t t\n"])
def test_a_text_that_says_it_a_thousand_times_is_read_soon(piece: str) -> None:
    launch_in_text(KERNEL + "k<<<1, t>>>();" + piece * (30_000 // len(piece)), "k")
    launch_in_text(KERNEL + piece * (30_000 // len(piece)), "k")


SHARED = """__global__ void k(const float *a, float4 *b, int n) {
  extern __shared__ double s[]; s[threadIdx.x] = a[0]; b[0].x = s[0];
}
"""
MALLOCS = "cudaMalloc((void **)&x, N * sizeof(float)); cudaMalloc(&y, N * sizeof(float4)); "
HOSTS = {
    "a function that launches": (
        "void launch(float *a, float4 *b, int size) { int t = 64; k<<<(size + t - 1) / t, t, t * 8>>>(a, b, size); }\n"
        f"int main() {{ const int N = 1 << 10; float *x; float4 *y; {MALLOCS}launch(x, y, N); }}",
        "k<<<16, 64, 512>>>(float32[1024]=random, float32[1024, 4], 1024)",
    ),
    "a template that a function calls": (
        "template <int T> void launch(float *n, float4 *y, int c) { k<<<c / T, T, T * sizeof(double)>>>(n, y, c); }\n"
        "void run(float *p, float4 *q, int n) { launch<32>(p, q, n); }\n"
        f"int main() {{ int N = 256; float *x; float4 *y; {MALLOCS}run(x, y, N); }}",
        "k<<<8, 32, 256>>>(float32[256]=random, float32[256, 4], 256)",
    ),
    "a size that the program's arguments may change": (
        "int main(int argc, char **argv) { int N = argc > 1 ? atoi(argv[1]) : 256; int sizes[] = {32, 64};\n  "
        f"float *x; float4 *y; {MALLOCS}for (int i = 0; i < 2; i++) {{\n"
        "    int t = sizes[i]; k<<<N / t, t, 512>>>(x, y, N); } }",
        "k<<<8, 32, 512>>>(float32[256]=random, float32[256, 4], 256)",
    ),
    "the runtime's function": (
        f"int main() {{ int N = 256; dim3 g(4), t(64); float *x; float4 *y; {MALLOCS}"
        "void *all[] = {(void *)&x, &y, &N}; cudaLaunchKernel((void *)k, g, t, all, 512, 0); }",
        "k<<<4, 64, 512>>>(float32[256]=random, float32[256, 4], 256)",
    ),
    "names that the caller swaps": (
        "void launch(float *x, float4 *y, int n, int m) { k<<<m, n, 0>>>(x, y, n); }\n"
        f"int main() {{ int n = 4, rows = 64, N = 9; float *x; float4 *y; {MALLOCS}launch(x, y, rows, n); }}",
        "k<<<(n + block - 1) / block, 64>>>(float32[n]=random, float32[n, 4], n)",
    ),
    "a function that calls itself": (
        "void f(int n) { f(n + 1); k<<<n, n>>>(x, y, n); }\nvoid g(int n) { f(n); }\nint main() { g(n); }",
        "k<<<(n + block - 1) / block, 256, 8 * block>>>(float32[n]=random, float32[n, 4], n)",
    ),
    "no host": ("", "k<<<(n + block - 1) / block, 256, 8 * block>>>(float32[n]=random, float32[n, 4], n)"),
}


@pytest.mark.parametrize("name", HOSTS)
def test_a_launch_is_followed_to_its_caller(name: str) -> None:
    host, call = HOSTS[name]
    assert propose_setup(SHARED + host).call == call


TYPES = """typedef double real; using idx = unsigned int;
#define KIND short
struct Body { float x, y, z; float v[3]; };
typedef struct { int key; float value; } Pair;
struct Odd { double d; int i; };
"""


@pytest.mark.parametrize(
    ("written", "element"),
    [("const real *__restrict__ p", ("float64", 1)), ("idx *p", ("uint32", 1)), ("KIND p[]", ("int16", 1)),
     ("struct Body *p", ("float32", 6)), ("Pair *p", ("int32", 2)), ("uchar3 *p", ("uint8", 3)),
     ("half2 *p", ("float16", 2)), ("cuDoubleComplex *p", ("float64", 2)), ("ulonglong4 *p", ("uint64", 4)),
     ("unsigned long long *p", ("uint64", 1)), ("unsigned *p", ("uint32", 1)), ("float (*p)[16]", ("float32", 1)),
     ("Odd *p", None), ("float **p", None), ("void *p", None), ("Other *p", None)],
)  # fmt: skip
def test_the_elements_of_an_array_are_read_off_its_type(written: str, element: tuple[str, int] | None) -> None:
    found = element_of(TYPES, written)
    assert (found and (found.kind, found.count)) == element


@pytest.mark.parametrize(
    ("body", "sizes"),
    [("y[i] = x[i];", ("n", "n")), ("for (int j = 0; j < cols; j++) y[i] += x[i * cols + j];", ("n, n", "n")),
     ("const float *row = x + i * cols; y[i] = row[0];", ("n, n", "n")),
     ("int at = (i * rows + 1) * cols; int next = at + i; y[next] = x[i];", ("n", "n, 16, 16")),
     ("y[i] = x[i*cols];", ("n, n", "n")),
     ("y[i * blockDim.x] = x[i * 4];", ("n, 4", "n")), ("y[blockDim.x * 2] = x[2 * i + 1];", ("n, 2", "n")),
     ("const float *pixel = x + (i * 4); y[i] = pixel[1] + pixel[2];", ("n, 4", "n")),
     ("int at = 3 * i; if (2 * i < cols) y[2 * i] = x[at + 1];", ("n, 3", "n")),
     ("x[i] += (((rows * 5 + i) * 7 + i) * 9 + cols) * i;", ("n", "n")),
     ("y[((i * rows + 1) * cols + 2) * deep + 3] = x[(((i * rows) * cols) * deep) * more];",
      ("n, 4, 4, 4, 4", "n, 4, 4, 4"))],
)  # fmt: skip
def test_an_array_whose_index_multiplies_a_size_has_a_side_more(body: str, sizes: tuple[str, str]) -> None:
    more = ", int deep, int more" * ("deep" in body)
    text = f"__global__ void k(const float *x, float *y, int rows, int cols{more}) {{ int i = threadIdx.x; {body} }}\n"
    assert propose_setup(text).arguments[:2] == tuple(
        f"float32[{size}]{fill}" for size, fill in zip(sizes, ("=random", ""), strict=True)
    )


def test_a_number_that_a_parameter_cannot_hold_is_not_proposed() -> None:
    text = """enum Kind { A, B };
struct Add { __device__ int operator()(int a, int b) const { return a + b; } };
__global__ void k(unsigned char c, Kind kind, Add add, int n, int *out) { out[0] = add(c, n); }
"""
    setup = propose_setup(text)
    assert setup.arguments[:4] == ("1", "1", "{}", "n")
    made = launching(setup, 1024)
    assert kernel(text).run(made.grid, made.block, made.arguments).arrays["out"][0] == 1025


def test_a_constant_that_is_also_a_name_of_a_parameter_is_made_smaller() -> None:
    text = """const int N = 100000000;
__global__ void k(double *x, int N) { int i = blockIdx.x * blockDim.x + threadIdx.x; if (i < N) x[i] = 1; }
int main() { double *x; cudaMalloc(&x, N * sizeof(double)); k<<<N / 128, 128>>>(x, N); }
"""
    assert "N = " in propose_setup(text).assumed
    larger = text.replace("(&x, N", "(&x, 3 * 50000000").replace("k<<<N", "k<<<1000")
    assert propose_setup(larger.replace("x, N)", "x, 5)")).assumed == ""  # and nothing can be made smaller


def test_sizes_of_macros_with_comments_and_of_sides_one_by_one() -> None:
    text = """#define SIDE 32   // / 2, as WARPS * 16
#define ROWS 4096 /* many */
#define ALL (SIDE * ROWS)
__global__ void k(float *x) { int i = blockIdx.x * blockDim.x + threadIdx.x; if (i < ALL) x[i] = 1; }
int main() {
    dim3 gridDim, blockDim; float *x; cudaMalloc(&x, ALL * sizeof(float));
    blockDim.x = 2 * SIDE; blockDim.y = 2; gridDim.x = ALL / blockDim.x;
    k << <gridDim, blockDim >> > (x);
}
"""
    assert propose_setup(text).call == "k<<<2048, dim3(64, 2)>>>(float32[131072])"
    assert propose_setup(text.replace("4096", "9000000")).assumed == ""  # the kernel itself has the size


def test_a_type_of_two_branches_is_the_one_that_is_taken() -> None:
    text = "#ifdef USE_DP\ntypedef double real;\n#else\ntypedef float real;\n#endif\n"
    assert element_of(text, "real *x") == Element("float32")
    assert element_of(f"#define USE_DP  // or not\n{text}", "real *x") == Element("float64")
    assert element_of(text.replace("USE_DP", "__NOT_OURS"), "real *x") is None
    assert element_of("#define real double  // wide\n", "real *x") == Element("float64")


def test_a_name_has_its_last_value_before_the_launch() -> None:
    text = (
        KERNEL
        + """int main() {
  float *a, *b; cudaMalloc(&a, 4096); cudaMalloc(&b, 4096); dim3 g, t;
  g = dim3(4); t = dim3(32); other<<<g, t>>>(a, b, 5);
  g = dim3(2); t = dim3(16, 4); k<<<g, t>>>(a, b, 5);
  g = dim3(8); t = dim3(64); other<<<g, t>>>(a, b, 5);
}
"""
    )
    assert propose_setup(text).call.startswith("k<<<2, dim3(16, 4)>>>(")


PLANE = """__global__ void k(const float *a, float *b, int w, int h) {
  int i = blockIdx.x * blockDim.x + threadIdx.x; if (i < w * h) b[i] = a[3 * i] + a[3 * i + 2];
}
"""
LINE = """__global__ void k(const float *a, float *b, int n) {
  int i = blockIdx.x * blockDim.x + threadIdx.x; if (i < n) b[i] = a[i] + a[i + n];
}
"""
USERS = {
    "a function that nobody calls": (
        LINE,
        "void solve(const float *in, float *out, int N) {\n"
        "  int half = N / 2; k<<<(half + 63) / 64, 64>>>(in, out, half); }",
        "k<<<((n / 2) + 63) / 64, 64>>>(float32[n]=random, float32[n], n / 2)",
        "N = n",
    ),
    "its caller in turn": (
        LINE,
        "void launch(float *in, float *out, int m) { k<<<m / 64, 64, m * sizeof(float)>>>(in, out, m); }\n"
        "void solve(float *in, float *out, int N) { launch(in, out, N / 2); }",
        "k<<<(n / 2) / 64, 64, (n / 2) * 4>>>(float32[n]=random, float32[n], n / 2)",
        "N = n",
    ),
    "a plane of blocks in a line": (
        PLANE,
        "void solve(const float *in, float *out, int W, int H) { k<<<(W * H + 63) / 64, 64>>>(in, out, W, H); }",
        "k<<<(n * n + 63) / 64, 64>>>(float32[n, n, 3]=random, float32[n, n], n, n)",
        "W = n, H = n",
    ),
    "the command line": (
        LINE,
        "int main(int c, char **v) { int N = atoi(v[1]); size_t bytes = 2 * N * sizeof(float); float *x, *y;\n"
        "  cudaMalloc(&x, bytes); cudaMalloc(&y, N * sizeof(float)); cudaMemset(y, 0, bytes);\n"
        "  k<<<(N + 63) / 64, 64>>>(x, y, N); }",
        "k<<<(n + 63) / 64, 64>>>(float32[2 * n]=random, float32[n], n)",
        "N = n",
    ),
    "a question": (
        LINE,
        'int main() { int N = 0; float *x, *y; printf("N? "); scanf("%d", &N); cudaMalloc(&x, 8 * N);\n'
        "  cudaMalloc(&y, N * sizeof(float)); k<<<min((N + 63) / 64, 65535), 64>>>(x, y, N); }",
        "k<<<(n + 63) / 64, 64>>>(float32[(8 * n) / 4]=random, float32[n], n)",
        "N = n",
    ),
    "a tensor": (
        LINE,
        "torch::Tensor run(torch::Tensor x, torch::Tensor y) { const int size = y.numel();\n"
        "  k<<<(size + 63) / 64, 64>>>(x.data_ptr<float>(), y.data_ptr<float>(), size); return y; }",
        "k<<<(n + 63) / 64, 64>>>(float32[n]=random, float32[n], n)",
        "size = n",
    ),
    "a block that only the user knows": (
        LINE,
        "void solve(float *in, float *out, int N, int T) { k<<<N / T, T>>>(in, out, N); }",
        "k<<<n / 256, 256>>>(float32[n]=random, float32[n], n)",
        "T = 256, N = n",
    ),
    "more shared memory than a block can have": (
        SHARED.replace("float4 *b", "float *b").replace("b[0].x", "b[0]"),
        "void solve(float *in, float *out, int N) {\n  k<<<N, 64, N * N * sizeof(float)>>>(in, out, N); }",
        "k<<<n, 64, 8 * block>>>(float32[n]=random, float32[n], n)",
        "",
    ),
    "a function that is passed on": (
        "template <class A, int T> __global__ void k(const A *a, A *b) { b[threadIdx.x] = a[threadIdx.x]; }\n",
        "template <class A, int T> void run(std::vector<A> &x, std::vector<A> &y) { size_t size = x.size();\n"
        "  k<A, T><<<size / T, T>>>(x.data(), y.data()); }\n"
        "int main() { constexpr int threads = 64; std::function<void()> f = run<float, threads>; }",
        "k<<<n / 64, 64>>>(float32[n]=random, float32[n])",
        "size = n",
    ),
    "a block that is bounded": (
        LINE,
        "void solve(float *in, float *out, int N) {\n"
        "  int t = std::min(N, 128); k<<<(N + t - 1) / t, t>>>(in, out, N); }",
        "k<<<(n + 128 - 1) / 128, 128>>>(float32[n]=random, float32[n], n)",
        "N = n",
    ),
    "functions that round up": (
        LINE,
        "void solve(float *in, float *out, int N) {\n"
        "  dim3 g(CEIL_DIV(N, 64), cuda::ceil_div(N, 2)), b(64, 1); dim3 unused(ceil(N / 32.0), ceil(N / 2.0), 1);\n"
        "  k<<<g, b>>>(in, out, N); }",
        "k<<<dim3(((n + 64 - 1) / 64), ((n + 2 - 1) / 2)), 64>>>(float32[n, n]=random, float32[n, n], n)",
        "N = n",
    ),
    "rounded sides": (
        PLANE,
        "void solve(float *in, float *out, int W, int H) {\n"
        "  dim3 b(16, 16, 1), g(ceil(W / 16.0), ceil(H / 16.0), 1); k<<<g, b>>>(in, out, W, H); }",
        "k<<<dim3((n + 16 - 1) / 16, (n + 16 - 1) / 16), dim3(16, 16)>>>(float32[n, n, 3]=random, float32[n, n], n, n)",
        "W = n, H = n",
    ),
}


@pytest.mark.parametrize("name", USERS)
def test_a_size_that_the_file_leaves_to_its_user_is_n(name: str) -> None:
    kernel_text, host, call, told = USERS[name]
    setup, line = propose_setup(kernel_text + host), 1 + (kernel_text + host).partition("<<<")[0].count("\n")
    assert setup.call == call
    start, end = f"Launched as in line {line}", f", with {told or 'N = n'}."
    assert setup.assumed.startswith(start) and setup.assumed.endswith(end)
    between = setup.assumed.removeprefix(start).removesuffix(end)
    assert not between if told else between.startswith(", but ") and between.endswith(" shared memory")


def test_a_name_that_two_parts_of_a_program_declare_is_that_of_the_part_before_the_launch() -> None:
    text = (
        KERNEL + "__global__ void m(float *a) { }\nint main() {\n"
        "  { int blocks = 3, threads = 64; k<<<blocks, threads>>>(a, b, 2); }\n"
        "  { dim3 blocks(2, 2); dim3 threads(8, 8); m<<<blocks, threads>>>(a); }\n"
        "  { int blocks = 5, threads = 32; m<<<blocks, threads>>>(a); } }\n"
    )
    first, second = launch_in_text(text, "k"), launch_in_text(text, "m")
    assert first and second and (first.grid, first.block) == ((3,), (64,))
    assert (second.grid, second.block) == ((2, 2), (8, 8))


def test_the_area_and_the_steps_of_a_filter_are_small() -> None:
    text = "__global__ void k(const float *a, float *b, int n, int filter_size, int radius, int stride, int padH) { }\n"
    assert propose_setup(text).arguments[2:] == ("n", "3", "3", "1", "1")


@pytest.mark.parametrize(("body", "call"), [
    ("b[(blockIdx.y * 16 + threadIdx.y) * n + blockIdx.x * 16 + threadIdx.x] = a[0];",
     "k<<<dim3((n + 15) / 16, (n + 15) / 16), dim3(16, 16)>>>(float32[n, n]=random, float32[n, n], n)"),
    ("__shared__ float s[T][T + 1]; s[threadIdx.y][threadIdx.x] = a[0]; b[n] = s[0][0];",
     "k<<<dim3((n + 7) / 8, (n + 7) / 8), dim3(8, 8)>>>(float32[n, n]=random, float32[n, n], n)"),
    ("__shared__ float s[T][T]; for (int j = 0; j < T; j += 2) s[threadIdx.y + j][threadIdx.x] = a[0]; b[n] = s[0][0];",
     "k<<<dim3((n + 7) / 8, (n + 7) / 8), dim3(8, 2)>>>(float32[n, n]=random, float32[n, n], n)"),
    ("extern __shared__ float s[]; int t = threadIdx.x; s[2 * t] = a[2 * t]; s[2 * t + 1] = a[2 * t + 1]; b[t] = s[t];",
     "k<<<(n + block - 1) / block, 256, 8 * block>>>(float32[n, 2]=random, float32[n], n)"),
])  # fmt: skip
def test_a_kernel_alone_gets_a_launch_of_its_own_shape(body: str, call: str) -> None:
    text = f"#define T 8\n__global__ void k(const float *a, float *b, int n) {{ {body} }}\n"
    assert propose_setup(text).call == call


def test_the_rows_of_a_sparse_matrix_have_an_end_more() -> None:
    text = """__global__ void k(const int *rows, const int *cols, const float *values, float *y, int n) {
  int row = blockIdx.x * blockDim.x + threadIdx.x; float sum = 0;
  if (row < n) { for (int j = rows[row]; j < rows[row + 1]; j++) sum += values[j] * cols[j]; y[row] = sum; }
}
"""
    assert [word.partition("=")[0] for word in propose_setup(text).arguments[:2]] == ["int32[n + 1]", "int32[n]"]
    assert check_own(propose_setup(text), 200, text, "mine.cu").measurement.status == "ok"


def test_an_array_has_the_size_of_its_own_function() -> None:
    host = "void {}() {{ float *x, *y; int n = {}; cudaMalloc(&x, n * 4); cudaMalloc(&y, n * 4); {}; }}\n"
    text = LINE + host.format("one", 64, "other<<<1, 64>>>(x, y, n)") + host.format("two", 32, "k<<<1, 32>>>(x, y, n)")
    assert propose_setup(text).call == "k<<<1, 32>>>(float32[32]=random, float32[32], 32)"


def test_one_of_several_sizes_is_not_made_smaller_alone() -> None:
    text = """__global__ void k(float *a, float *b, int size) {
  int i = blockIdx.x * blockDim.x + threadIdx.x; for (int j = 0; j < size; j += 4096) b[i] += a[i + j];
}
int main() {
  const int bytes = 1 << 28, threads = 32768; float *a, *b; cudaMalloc(&a, bytes); cudaMalloc(&b, bytes);
  k<<<threads / 64, 64>>>(a, b, bytes / sizeof(float));
}
"""
    found = launch_in_text(text, "k")
    assert found is None or not found.grid or prod(map(int, found.grid)) * 64 <= 32768 // 4


def test_indices_are_those_of_the_smallest_array() -> None:
    made = launching(propose_setup(KERNEL), 1)
    assert len(made.arguments) == 3
    few = launching(setup_of("k<<<1, 64>>>(int32[64]=indices, int32[3], int32[1])"), 1).arguments[0]
    assert isinstance(few, np.ndarray) and set(few.tolist()) == {0, 1, 2}


def test_a_constant_that_a_template_gets_is_not_made_smaller() -> None:
    text = """template <int EACH> __global__ void k(const float *a, float *b) {
  for (int j = 0; j < EACH; j++) b[blockIdx.x] += a[blockIdx.x * EACH + j];
}
int main() {
  const int N = 1 << 26;
  const int blocks = 1024;
  float *a, *b; cudaMalloc(&a, N * sizeof(float)); cudaMalloc(&b, blocks * sizeof(float));
  k<N / blocks><<<blocks, 64>>>(a, b);
}
"""
    found = launch_in_text(text, "k")
    assert found is None or not found.changed


WRITTEN = {
    "digits with marks": ("int N = 1'024;", "N / 64, 64", "", "a, b, N", "16, 64", "1024"),
    "two names at once": ("int N, M; N = M = 512;", "M / 64, 64", "", "a, b, N", "8, 64", "512"),
    "comments in a sum": (
        "int N = 512; size_t bytes = (N  // the first of two parts, which is as long as the whole array\n"
        "  + N  // and the second part, of the same length, for the other one that is swapped with it\n"
        "  ) * sizeof(float);",
        "N / 64, 64, bytes", "", "a, b, N", "8, 64, 4096", "512",
    ),
    "brackets around a choice": (
        "int N = 512; dim3 t( min(N, 64) ); dim3 g( (N / t.x) );",
        "g, t", "", "a, b, N", "8, 64", "512",
    ),
    "a choice between numbers": (
        "int N = 512, t = 64; int bytes = (t <= 32) ? 2 * t * 4 : t * 4;",
        "N / t, t, bytes", "", "a, b, N", "8, 64, 256", "512",
    ),
    "a rest in a block of its own": (
        "int N = 500, t = 64; int g = N / t + (N % t == 0 ? 0 : 1);", "g, t", "", "a, b, N", "8, 64", "500",
    ),
    "the length of a host array": (
        "int h[] = {4, 8, 15, 16}; int N = 128 * (sizeof(h) / sizeof(h[0]));",
        "N / 64, 64", "", "a, b, N", "8, 64", "512",
    ),
    "the size of a host array": (
        "float h[512]; int N = sizeof(h) / sizeof(float);", "N / 64, 64", "", "a, b, N", "8, 64", "512",
    ),
    "a macro around the launch": ("int N = 512;", "N / 64, 64", "CHECK((", "a, b, N", "8, 64", "512"),
}  # fmt: skip


@pytest.mark.parametrize("name", WRITTEN)
def test_a_launch_is_read_however_it_is_written(name: str) -> None:
    sizes, launched, before, given, call, n = WRITTEN[name]
    text = f"{LINE}int main() {{ {sizes}\n  float *a, *b; cudaMalloc((void **)(&a), 8 * N); cudaMalloc(&b, 4 * N);\n"
    text += f"  {before}k<<<{launched}>>>({given}){'))' if before else ''};\n}}\n"
    found = propose_setup(text)
    assert found.call == f"k<<<{call}>>>(float32[{2 * int(n)}]=random, float32[{n}], {n})"
    assert found.assumed.startswith("Launched as in line")


def test_a_size_of_the_command_line_with_a_usual_value_is_made_smaller() -> None:
    text = (
        LINE
        + """int main(int argc, char **argv) {
  int N = (argc > 1) ? atoi(argv[1]) : (1 << 26); float *a, *b;
  cudaMalloc(&a, 2 * N * sizeof(float)); cudaMalloc(&b, N * sizeof(float)); k<<<N / 64, 64>>>(a, b, N);
}
"""
    )
    assert "N = 1,048,576 in place of 67,108,864" in propose_setup(text).assumed


def test_of_two_sizes_the_one_that_can_be_smaller_is() -> None:
    text = """__global__ void k(const float *a, float *b, int n, int m) {
  for (int i = threadIdx.x; i < m; i += blockDim.x) b[blockIdx.x * m + i] = a[blockIdx.x * m + i];
}
int main() {
  int N = 32786, M = 1024; float *a, *b; cudaMalloc(&a, N * M * sizeof(float)); cudaMalloc(&b, N * M * sizeof(float));
  k<<<N, 1024>>>(a, b, N, M);
}
"""
    found = launch_in_text(text, "k")
    assert found and found.grid and found.changed.keys() == {"N"} and found.arguments[3].words == "1024"


def test_a_size_of_the_block_is_the_same_number_as_an_argument() -> None:
    text = """__global__ void k(int B, int T, int C, const float *a, float *b) {
  int i = blockIdx.x * C * T + threadIdx.x; for (int t = 0; t < T; t++) b[i + t * C] = a[i + t * C];
}
void run(int B, int T, int C, float *a, float *b) { dim3 g(B), t(C); k<<<g, t>>>(B, T, C, a, b); }
"""
    found = propose_setup(text)
    assert found.block == (found.arguments[2],)


def test_a_functor_and_an_array_of_pointers_are_arguments() -> None:
    text = """struct Add { __device__ int operator()(int a, int b) const { return a + b; } };
__device__ int *unused;
static int *found[8];
template <class Op> __global__ void k(const int *a, int *b, int n, Op op) {
  int i = threadIdx.x; if (i < n) b[i] = op(a[i], 1);
}
int main() {
  int *a; int t = 3; cudaMalloc(&a, 64 * sizeof(int)); cudaMalloc(&found[t], 64 * sizeof(int));
  k<<<1, 64>>>(a, found[t], 64, Add());
}
"""
    assert propose_setup(text).call.endswith("<<<1, 64>>>(int32[64]=random, int32[64], 64, {})")


def test_a_number_that_is_computed_as_the_file_runs_is_told() -> None:
    text = """__global__ void k(const float *a, float *b, float scale, float least, int offset) {
  int i = threadIdx.x; b[i] = a[i + offset] * scale + least;
}
int main() {
  float *a, *b; cudaMalloc(&a, 256); cudaMalloc(&b, 256); float scale = largest(h) / 127, least = 1e-6f;
  k<<<1, 64>>>(a, b, scale, least, 0);
}
"""
    found = propose_setup(text)
    assert found.arguments[2:] == ("1", "1e-6", "0")
    assert found.assumed == "Launched as in line 6. The file computes scale as it runs: here 1."
    alone = propose_setup(text.partition("int main")[0])
    assert alone.arguments[-1] == "0"


def test_a_lock_in_a_structure_is_open_at_first() -> None:
    text = """struct Lock {
  int *state, *other;
  __device__ void lock() { while (atomicCAS(state, 0, 1) != 0); __threadfence(); }
  __device__ void unlock() { __threadfence(); atomicExch(state, 0); }
};
__global__ void k(Lock lock, float *a) { if (threadIdx.x == 0) { lock.lock(); a[0] += 1; lock.unlock(); } }
"""
    setup = propose_setup(text)
    assert setup.arguments[0] == "{int32[n]=zeros, int32[n]=random}"
    assert check_own(setup, 512, text, "lock.cu").measurement.status == "ok"


def test_equal_sides_stay_equal() -> None:
    text = """__global__ void k(const float *a, float *b, int h, int w) {
  int x = blockIdx.x * blockDim.x + threadIdx.x, y = blockIdx.y * blockDim.y + threadIdx.y;
  if (x < w && y < h) b[y * w + x] = a[y * w + x];
}
int main() {
  int width = 10240, height = 10240; float *a, *b; size_t bytes = width * height * sizeof(float);
  cudaMalloc(&a, bytes); cudaMalloc(&b, bytes); dim3 t(16, 16), g(width / t.x, height / t.y);
  k<<<g, t>>>(a, b, width, height);
}
"""
    found = launch_in_text(text, "k")
    assert found and found.changed.keys() == {"width", "height"} and len({*found.changed.values()}) == 1


def test_a_structure_of_numbers_of_several_sizes_is_counted_in_small_integers() -> None:
    text = """struct Vector { double x, y, z; };
struct Body { bool fixed; double mass; Vector place, speed; };
struct Cell { float4 colour; unsigned char kind; short more[3]; };
"""
    assert mixed_element(text, "const Body *bodies") == Element("int32", 16)
    assert mixed_element(text, "Cell *cells") == Element("int32", 8)
    assert mixed_element("struct Node { Node *next; double x; };", "Node *nodes") is None
    kernel_text = "__global__ void k(Body *b, int n) { if (threadIdx.x < n) b[threadIdx.x].mass += 1; }\n"
    assert propose_setup(text + kernel_text).arguments[0].startswith("int32[n, 16]")


def test_a_window_that_is_left_to_the_user_is_small() -> None:
    text = """__global__ void conv(const float *x, const float *w, float *y, int n, int k) { y[0] = x[0] * w[k - 1]; }
    void run(int n, int k) {
        float *x, *w, *y;
        cudaMalloc(&x, n * 4); cudaMalloc(&w, k * 4); cudaMalloc(&y, (n - k + 1) * 4);
        conv<<<(n + 255) / 256, 256>>>(x, w, y, n, k);
    }"""
    assert propose_setup(text).arguments == ("float32[n]=random", "float32[3]=random", "float32[n - 3 + 1]", "n", "3")


@pytest.mark.sampled(quick=4)
@pytest.mark.parametrize(
    ("head", "loops", "index", "sizes"),
    [
        ("", "for (int a = 0; a < 5; a++) for (int b = 0; b < 5; b++)", "b * 5 + a", "5, 5"),
        ("#define R 2\n#define W (2 * R + 1)\n", "for (int a = -R; a <= R; a++) for (int b = -R; b <= R; b++)",
         "(b + R) * W + a + R", "5, 5"),
        ("const int S = 7;\n", "for (int a = 0; a < S; a++)", "a", "7"),
        ("", "for (int a = 0; a < 5; a++) for (int b = 0; b < 3; b++)", "b * 5 + a", "15"),
        ("", "for (int a = 0; a < n; a++)", "a", "n"),
        ("", "for (int a = 0; a < 5; a++)", "i + a", "n"),
        ("", "for (int a = 0; a < 5; a++)", "a] + g(m)[0", "n"),
    ],
)  # fmt: skip
def test_an_array_that_loops_of_constant_ends_read_is_proposed_with_its_elements(
    head: str, loops: str, index: str, sizes: str
) -> None:
    text = f"{head}__global__ void k(const float *x, const float *m, float *y, int n) {{ int i = threadIdx.x;\n"
    text += f"float s = 0; {loops} s += m[{index}] * x[i]; y[i] = s; }}"
    assert propose_setup(text).arguments[:2] == ("float32[n]=random", f"float32[{sizes}]=random")

"""Mistakes in host code that the text alone shows have a sentence at their line; right host code has none."""

from __future__ import annotations

import pytest

from engine.lab.host_mistakes import host_mistakes

PROGRAM = """#include <cstdio>
#define N 4096
__global__ void f(float *a, int n) { int i = blockIdx.x * blockDim.x + threadIdx.x; if (i < n) a[i] = 1; }
int main() {
    float *h = (float *)malloc(N * sizeof(float)), *d;
    const int threads = 256;
    dim3 grid(N / 256), block(threads);
    cudaMalloc(&d, N * sizeof(float));
    cudaMemcpy(d, h, N * sizeof(float), cudaMemcpyHostToDevice);
    f<<<N / threads, threads>>>(d, N);
    cudaMemcpy(h, d, N * sizeof(float), cudaMemcpyDeviceToHost);
    cudaFree(d);
}
"""
LAUNCH, TO, BACK = "f<<<N / threads, threads>>>(d, N)", "cudaMemcpy(d, h, N * sizeof(float), cudaMemcpyHostToDevice)", (
    "cudaMemcpy(h, d, N * sizeof(float), cudaMemcpyDeviceToHost)")  # fmt: skip
DYNAMIC = "__global__ void g(float *e) {{ extern __shared__ {} s[]; e[0] = s[0]; }}\nint main() {{ g<<<{}>>>(0);".format
# old, new words -> (line, what the sentence names)
MISTAKES = {
    (LAUNCH, "f<<1, 32>>(d, N)"): (10, ("three brackets",)),
    (LAUNCH, "f(d, N)"): (10, ("launched", "f<<<")),
    (LAUNCH, "f<<<32>>>(d, N)"): (10, ("two sizes",)),
    (LAUNCH, "f<<<threads, N / 2>>>(d, N)"): (10, ("1,024", "2,048")),
    (LAUNCH, "f<<<1, N>>>(d, N)"): (10, ("1,024", "4,096")),
    (LAUNCH, "f<<<1, dim3(64, 32)>>>(d, N)"): (10, ("1,024", "2,048")),
    (LAUNCH, "f<<<1, dim3(1, 1, 128)>>>(d, N)"): (10, ("z", "64", "128")),
    (LAUNCH, "f<<<dim3(1, 70000), 32>>>(d, N)"): (10, ("65,535", "70,000")),
    (LAUNCH, "f<<<N / 8192, threads>>>(d, N)"): (10, ("grid", "0")),
    ("block(threads)", "block(threads, 8)"): (10, ("1,024", "2,048")),
    ("threads = 256", "threads = 2048"): (10, ("1,024", "2,048")),
    (LAUNCH, "f<<<N / threads, threads>>>(d)"): (10, ("2 parameters", "1 argument")),
    (LAUNCH, "f<<<N / threads, threads>>>(h, N)"): (10, ("`h` is an array of the host",)),
    ("cudaMalloc(&d,", "cudaMalloc((void **)d,"): (8, ("&d",)),
    (TO, TO.replace("N * sizeof(float)", "N")): (9, ("bytes", "sizeof")),
    (TO, TO.replace("N * sizeof(float)", "sizeof(h)")): (9, ("`sizeof(h)` is 8",)),
    ("cudaMalloc(&d, N * sizeof(float))", "cudaMalloc(&d, N)"): (9, ("`cudaMalloc` of d", "bytes")),
    (TO, TO.replace("HostToDevice", "DeviceToHost")): (9, ("d is one of the GPU",)),
    (BACK, BACK.replace("DeviceToHost", "HostToDevice")): (11, ("h is one of the host",)),
    (BACK, BACK.replace("h, d", "d, h")): (11, ("d is one of the GPU",)),
    (LAUNCH, "f<<<N / threads, threads>>(d, N)"): (10, ("three brackets",)),
    (LAUNCH, "f<<<N / threads; threads>>>(d, N)"): (10, ("commas",)),
    (LAUNCH, "f<<<N / threads, threads>>>(&d, N)"): (10, ("`d`", "without the &")),
    (TO, TO.replace("(d", "(&d")): (9, ("`d`", "without the &")),
    (TO, TO.replace(", cudaMemcpyHostToDevice", "")): (9, ("fourth argument",)),
    (TO, "memcpy(d, h, N * sizeof(float))"): (9, ("`d`", "cudaMemcpy")),
    (TO, "cudaMemset(d, 1, N * sizeof(float))"): (9, ("each byte", "0x01010101")),
    (TO, "cudaMemset(d, 0, N)"): (9, ("bytes", "sizeof")),
    (TO, "d[0] = h[0]"): (9, ("`d`", "cudaMemcpy")),
    (TO, TO.replace("cudaMemcpy(", "cudaMemcopy(")): (9, ("`cudaMemcopy`", "`cudaMemcpy`")),
    ("cudaFree(d)", "free(d)"): (12, ("`d`", "cudaFree")),
    ("cudaFree(d)", "cudaFree(h)"): (12, ("`h`", "host")),
    ("cudaFree(d)", "cudaDeviceSynchronise()"): (12, ("`cudaDeviceSynchronize`",)),
    ("cudaFree(d)", "__syncthreads()"): (12, ("`__syncthreads`", "kernels")),
    ("cudaFree(d)", 'printf("%d", threadIdx.x)'): (12, ("`threadIdx`", "kernels")),
    ("cudaFree(d)", "printf(\u201cdone\u201d)"): (12, ("U+201C",)),
    ("cudaMalloc(&d, N * sizeof(float))", "d = (float *)cudaMalloc(N)"): (8, ("address", "bytes")),
    ("cudaMalloc(&d, N * sizeof(float))", "cudaMalloc(N * sizeof(float), &d)"): (8, ("address",)),
    ("int main() {", "void g(float *a) { a[0] = 1; }\nint main() {\n    g<<<1, 1>>>(0);"): (4, ("`g`", "__global__")),
    ("int main() {", "_global_ void g(float *a) { a[0] = 1; }\nint main() {"): (4, ("`__global__`", "`_global_`")),
    ("int main() {", "int main() {\n    __global__ void g(float *a) { a[0] = 1; }"): (5, ("line 4",)),
    ("int main() {", "__constant__ float c[4];\nint main() {\n    c[0] = 1;"): (6, ("`c`", "cudaMemcpyToSymbol")),
    ("int main() {", "__device__ int c;\nint main() {\n    printf(\"%d\", c);"): (6, ("cudaMemcpyFromSymbol",)),
    ("int main() {", "__device__ int c;\nint main() {\n    int one = 1; cudaMemcpyToSymbol(&c, &one, 4);"): (
        6, ("without the &",)),
    ("int main() {", "__device__ int c;\nint main() {\n    int one = 1; cudaMemcpyToSymbol(\"c\", &one, 4);"): (
        6, ("quotes", "c")),
    ("{ int i", "{ extern __shared__ int s[]; int i"): (10, ("third size", "`f`")),
    ("#define N 4096", "#define N = 4096"): (2, ("`= 4096`",)),
    ("#define N 4096", "#define N 4096; // elements"): (2, ("`4096;`",)),
    ("#define N 4096", "#define N (64 * 64);"): (2, ("`(64 * 64);`",)),
    (LAUNCH, "f<<<N / threads, threads>>>(threads, d)"): (10, ("`d` is a pointer", "`n` of f is a number")),
    (LAUNCH, "f<<<N / threads, threads>>>(d, &threads)"): (10, ("`&threads` is a pointer", "`n`")),
    (LAUNCH, "f<<<N / threads, threads>>>(4096, N)"): (10, ("`4096` is a number", "`a` of f is a pointer")),
    (LAUNCH, "int *e; f<<<1, 1>>>(e, N)"): (10, ("`e` points to int", "`a` of f to float")),
    ("int main() {", DYNAMIC("float", "1, 64, 64")): (5, ("third size", "64 bytes hold 16 elements of `s`")),
}  # fmt: skip


@pytest.mark.parametrize("changed", MISTAKES, ids=lambda each: each[1].replace("::", " "))
def test_a_mistake_in_host_code_has_a_sentence_at_its_line(changed: tuple[str, str]) -> None:
    old, new = changed
    assert old in PROGRAM
    text = PROGRAM.replace(old, new)
    if "block(" in old:
        text = text.replace("N / threads, threads>>>", "grid, block>>>")
    line, named = MISTAKES[changed]
    found = host_mistakes(text)
    assert found and found[0].line == line and all(word in found[0].message for word in named), found


RIGHT = {
    "as it is": ("", ""),
    "a shift in a size": (LAUNCH, "f<<<((N>>1)+255)/256,threads>>>(d, N)"),
    "managed on some GPUs": (
        "cudaMalloc(&d, N * sizeof(float));",
        "if (N) cudaMallocManaged(&d, 4); else cudaMalloc(&d, 4); memcpy(h, d, 4);",
    ),
    "a macro that ends a statement": ("#define N 4096", "#define END 0;\n#define N 4096\nint end() { return END }"),
    "a null pointer": (LAUNCH, "f<<<1, 1>>>(0, N); f<<<1, 1>>>(NULL, N); f<<<1, 1>>>(nullptr, 7)"),
    "numbers become numbers": (LAUNCH, "float x = 2; f<<<1, 1>>>(d, x); f<<<1, 1>>>(d, 2.5f)"),
    "a product is no pointer": (LAUNCH, "int m = 2, e = 3; f<<<1, 1>>>(d, e); int z = (m * e)"),
    "two variables of a name": (LAUNCH, "{ int e; } { float *e; f<<<1, 1>>>(e, N); }"),
    "shared bytes of characters": ("int main() {", DYNAMIC("char", "1, 64, 64")),
    "shared bytes for fewer elements": ("int main() {", DYNAMIC("float", "1, 64, 128")),
    "shared bytes with sizeof": ("int main() {", DYNAMIC("float", "1, 4, sizeof(float)")),
    "a size of a loop": (LAUNCH, "for (int t = 2048; t > 32; t /= 2) f<<<1, t>>>(d, N)"),
    "a size that is checked": ("threads = 256;", "full = 2048; int threads = full > 1024 ? 1024 : full;"),
    "a size of a caller": ("int main() {", "void g(float *d, int threads) { f<<<1, threads>>>(d, N); }\nint main() {"),
    "managed memory": ("= (float *)malloc(N * sizeof(float)), *d;",
                       ", *d; cudaMallocManaged(&h, N); f<<<16, 256>>>(h, N);"),
    "pinned memory": ("= (float *)malloc(N * sizeof(float))",
                      "= NULL; cudaMallocHost(&h, N * sizeof(float)); float *e"),
    "a launch of a comment": (LAUNCH, "/* f<<1, 32>>(d); f(d); */ " + LAUNCH),
    "one behind an #if": (LAUNCH, "\n#if 0\nf<<<1>>>(d);\n#endif\n" + LAUNCH),
    "sizes of a macro": ("#define N 4096\n", "#define N 4096\n#define SIZES N / 256, 256\n"),
    "a forward declaration": ("#include <cstdio>\n", "#include <cstdio>\n__global__ void f(float *a, int n);\n"),
    "a default": ("int n)", "int n = 4)"),
    "bytes in a variable": ("cudaMalloc(&d, N * sizeof(float))",
                            "size_t bytes = N * sizeof(float); cudaMalloc(&d, bytes)"),
    "a copy to an expression": (TO, TO.replace("(d,", "(*(&d),")),
    "an overload": ("int main", "__global__ void f(float *a) { a[0] = 1; }\nint main"),
    "a wrapper of the same name": ("int main() {", "void f(float *d) { f<<<1, 32>>>(d, N); }\nint main() {"),
    "a place in an array": (LAUNCH, "f<<<4, 32>>>(&d[4], sizeof(d[0]))"),
    "arrays of pointers": ("cudaFree(d)", "float *e[2]; cudaMalloc(&e[0], 4); f<<<1, 1>>>(e[0], 1)"),
    "a parameter with the name of a variable": (
        "int main() {", "__constant__ float c[4];\nfloat g(float *c) { return c[0]; }\nint main() {"),
    "a constant of both": (
        "int main() {", "__device__ const int c = 4;\n__managed__ int m;\nint main() { m = 1; printf(\"\", c + m);"),
    "a variable that a function copies": (
        "int main() {", "__device__ float c[4], *p;\nint main() { float s[4]; cudaMemcpyFromSymbol(s, c, sizeof(c));"),
    "bytes of a large number": (TO, "cudaMemset(d, 0x7f, N * sizeof(float)); cudaMemset(d, 255, N * sizeof(float))"),
    "an address that is copied": (
        TO, "float **e; cudaMalloc(&e, 8); cudaMemcpy(e, &d, sizeof(float *), cudaMemcpyHostToDevice)"),
    "a macro with a name of CUDA": ("int main() {", "#define cudaMemcopy(a) a\nint main() {\n    cudaMemcopy(N);"),
    "sizes with the names of kernels": (LAUNCH, "dim3 blockDim(32), gridDim(4); f<<<gridDim, blockDim>>>(d, N)"),
    "letters in quotes and comments": (LAUNCH, LAUNCH + '; printf("\u201cok\u201d"); // \u2192 fertig'),
    "an element of an expression": ("cudaFree(d)", "cudaFree(*&d); cudaMemcpy(*&d, h, N, cudaMemcpyHostToDevice)"),
    "an array of the stack": ("int main() {", "int main() {\n    float s[4]; s[0] = 1;"),
}  # fmt: skip


@pytest.mark.parametrize("name", RIGHT)
def test_right_host_code_has_no_sentence(name: str) -> None:
    text = PROGRAM.replace(*RIGHT[name]) if RIGHT[name][0] else PROGRAM
    if name == "sizes of a macro":
        text = text.replace(LAUNCH, "f<<<SIZES>>>(d, N)")
    if name in ("a default", "an overload", "a wrapper of the same name"):
        text = text.replace("(d, N)", "(d)")
    assert host_mistakes(text) == ()

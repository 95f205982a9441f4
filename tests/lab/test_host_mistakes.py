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
    (LAUNCH, "f<<<N / threads, threads>>>(h, N)"): (10, ("h is an array of the host",)),
    ("cudaMalloc(&d,", "cudaMalloc((void **)d,"): (8, ("&d",)),
    (TO, TO.replace("N * sizeof(float)", "N")): (9, ("bytes", "sizeof")),
    (TO, TO.replace("N * sizeof(float)", "sizeof(h)")): (9, ("sizeof(h) is 8",)),
    ("cudaMalloc(&d, N * sizeof(float))", "cudaMalloc(&d, N)"): (9, ("cudaMalloc of d", "bytes")),
    (TO, TO.replace("HostToDevice", "DeviceToHost")): (9, ("d is one of the GPU",)),
    (BACK, BACK.replace("DeviceToHost", "HostToDevice")): (11, ("h is one of the host",)),
    (BACK, BACK.replace("h, d", "d, h")): (11, ("d is one of the GPU",)),
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

"""Which accesses of shared memory the assembler made, read from the cubin alone."""

from __future__ import annotations

from engine.catalogue.gpu_models import GPU
from engine.compile.assembly import SharedAccess, shared_accesses
from engine.compile.nvrtc import ASSEMBLED_ARCHITECTURE, EMULATED_ARCHITECTURE, compile_source
from engine.records import Source

TEXT = """
__device__ __noinline__ float add(const float *s, int k) { return s[k] + s[k + 1]; }
extern "C" __global__ void four(float *out) {
    __shared__ float s[128];
    s[threadIdx.x] = out[threadIdx.x];
    __syncthreads();
    out[threadIdx.x] = s[4] + s[5] + s[6] + s[7];
}
extern "C" __global__ void two(float *out) {
    __shared__ double s[64];
    s[threadIdx.x] = out[threadIdx.x];
    __syncthreads();
    out[threadIdx.x] = s[63 - threadIdx.x];
}"""


def made(text: str, kernel: str) -> tuple[list[tuple[str, int, str]], str]:
    """(op, size, the PTX at the access) of a kernel, and all of the PTX."""
    source = Source("mine.cu", text, "float32")
    ptx = compile_source(source, EMULATED_ARCHITECTURE).decode()
    found = shared_accesses(compile_source(source, ASSEMBLED_ARCHITECTURE), ptx, kernel)
    assert found is not None
    lines = ptx.splitlines()
    return [(access.op, access.size, lines[access.place - 1].split()[0]) for access in found], ptx


def test_what_is_emulated_is_what_is_assembled() -> None:
    assert ASSEMBLED_ARCHITECTURE == GPU.architecture == EMULATED_ARCHITECTURE.replace("compute", "sm")


def test_four_loads_are_one_and_its_line_is_that_of_a_load() -> None:
    assert made(TEXT, "four")[0] == [("st", 4, "st.shared.f32"), ("ld", 16, "ld.shared.f32")]
    assert made(TEXT, "two")[0] == [("st", 8, "st.shared.f64"), ("ld", 8, "ld.shared.f64")]


def test_a_cubin_says_nothing_of_another_text() -> None:
    cubin = compile_source(Source("mine.cu", TEXT, "float32"), ASSEMBLED_ARCHITECTURE)
    ptx = made(TEXT, "four")[1]
    assert shared_accesses(cubin, ptx.replace("sm_90", "sm_75"), "four") is None
    assert shared_accesses(cubin, ptx, "five") is None
    first, *_ = shared_accesses(cubin, ptx, "four") or ()
    assert first == SharedAccess(first.place, "st", 4)


def test_one_compilation_makes_both() -> None:
    text = TEXT.replace("four", "both")
    compile_source(Source("mine.cu", text, "float32"), EMULATED_ARCHITECTURE)
    shared = 'extern "C" __global__ void f(float *o) { __shared__ float s[60000]; s[threadIdx.x] = 1; o[0] = s[5]; }'
    source = Source("mine.cu", shared, "float32")  # the assembler refuses so much shared memory, the compiler does not
    assert b".entry f(" in compile_source(source, EMULATED_ARCHITECTURE)

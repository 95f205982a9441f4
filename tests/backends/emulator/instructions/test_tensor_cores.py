"""Matrices that a warp multiplies: mma and ldmatrix as the PTX manual says, wmma against NumPy, and what goes wrong."""

from __future__ import annotations

import itertools

import numpy as np
import pytest

from engine.backends.emulator.watching import results
from engine.backends.emulator.watching.one_block import TraceDone
from engine.backends.emulator.watching.trace import Tracer
from engine.records import Array, RunFailed
from tests.backends.emulator.small_kernels import execute
from tests.backends.emulator.tensor_kernels import FORMS, LANES, Form, expected, registers_of, text_of
from tests.cases import case
from tests.sentences import refused, sentence

QUICK = {"f32.bf16.bf16.f32", "s32.u8.s8.s32", "f64.f64.f64.f64"}


@pytest.mark.parametrize(
    "form",
    [case(form, quick=form.types in QUICK and form.shape != "m16n8k8", id=form.opcode) for form in FORMS],
)
def test_a_product_lies_and_rounds_as_the_manual_and_the_measurements_say(form: Form) -> None:
    warps = 3
    given = registers_of(form, warps, 7)
    size = warps * LANES * form.registers[3]
    made = np.zeros(size, np.float64 if "f64" in form.types else np.uint32)
    out = execute(text_of(form), grid=warps, dtype="", **dict(zip("abc", given, strict=True)), d=made)["d"]
    assert out.size == size > 0
    for warp in range(warps):
        a, b, c, d = (np.ascontiguousarray(each.reshape(warps, LANES, -1)[warp]) for each in (*given, out))
        wanted = expected(form, a, b, c)
        np.testing.assert_array_equal(d.view(wanted.dtype), wanted)


LDMATRIX = """extern "C" __global__ void f(const uint4 *in, unsigned *out) {
    __shared__ uint4 s[32];
    int t = threadIdx.x;
    s[t] = in[t];
    __syncthreads();
    unsigned r[4], at = (unsigned)__cvta_generic_to_shared(&s[t]);
    asm volatile("ldmatrix.sync.aligned.m8n8.x4.shared.b16 {%0, %1, %2, %3}, [%4];"
                 : "=r"(r[0]), "=r"(r[1]), "=r"(r[2]), "=r"(r[3]) : "r"(at));
    for (int i = 0; i < 4; ++i) out[32 * i + t] = r[i];
    asm volatile("ldmatrix.sync.aligned.m8n8.x2.trans.shared.b16 {%0, %1}, [%2];" : "=r"(r[0]), "=r"(r[1]) : "r"(at));
    out[128 + t] = r[0];
    out[160 + t] = r[1];
    asm volatile("movmatrix.sync.aligned.m8n8.trans.b16 %0, %1;" : "=r"(r[2]) : "r"(r[0]));
    out[192 + t] = r[2];
    __syncwarp();
    asm volatile("stmatrix.sync.aligned.m8n8.x2.trans.shared.b16 [%0], {%1, %2};" :: "r"(at), "r"(r[0]), "r"(r[1]));
    __syncwarp();
    if (t < 16) ((uint4 *)(out + 224))[t] = s[t];
}"""


def test_ldmatrix_gives_each_lane_two_numbers_of_a_row_or_of_a_column() -> None:
    numbers = np.arange(256, dtype=np.uint16)
    watching = results.usual_observers()
    out = execute(LDMATRIX, dtype="", observers=watching, **{"in": numbers.view(np.uint32)}, out=np.zeros(288, "u4"))
    matrices, found = numbers.reshape(4, 8, 8), out["out"].view(np.uint16).reshape(9, 8, 8)
    np.testing.assert_array_equal(found[:4], matrices)
    np.testing.assert_array_equal(found[4:6], matrices[:2].swapaxes(1, 2))
    np.testing.assert_array_equal(found[6], matrices[0])
    np.testing.assert_array_equal(found[7:], matrices[:2])
    totals = results.totals(watching)
    assert not results.findings(watching)
    # 32 rows of 16 bytes one after the other take four wavefronts, 16 rows two; so do those that are stored and read.
    assert (totals["shared_load_requests"], totals["shared_load_wavefronts"]) == (3, 8)
    assert (totals["shared_store_requests"], totals["shared_store_wavefronts"]) == (2, 6)


def test_a_picture_shows_the_lanes_that_give_ldmatrix_its_addresses() -> None:
    tracer, numbers = Tracer(0), np.arange(128, dtype=np.uint32)
    with pytest.raises(TraceDone):
        execute(LDMATRIX, dtype="", observers=(tracer,), **{"in": numbers}, out=np.zeros(288, "u4"))
    loads = [step for step in tracer.steps if "ldmatrix" in step.opcode and step.kind == "load"]
    assert [(step.size, step.lanes[0], step.requests[0].passes) for step in loads] == [
        (16, 2**32 - 1, 4),
        (16, 2**16 - 1, 2),
    ]


# ---- wmma, as mma.h has it

C_TYPES = {"half": np.float16, "float": np.float32, "double": np.float64, "int": np.int32, "signed char": np.int8,
           "unsigned char": np.uint8}  # fmt: skip
WIDE = ((16, 16, 16), (32, 8, 16), (8, 32, 16))
KINDS = [(kind, sums, size) for kind, sums in (("half", "float"), ("half", "half"), ("__nv_bfloat16", "float"),
         ("signed char", "int"), ("unsigned char", "int")) for size in WIDE]  # fmt: skip
KINDS += [("double", "double", (8, 8, 4)), ("float", "float", (16, 16, 8))]
WMMA = """#include <mma.h>
#include <cuda_bf16.h>
using namespace nvcuda;
template <typename T> __device__ void fill(T *to, const T *from, int n) {{
    for (int i = threadIdx.x; i < n; i += 32) to[i] = from[i];
    __syncthreads();
}}
extern "C" __global__ void f(const {kind} *a, const {kind} *b, const {sums} *c, {sums} *d) {{
    {shared}
    wmma::fragment<wmma::matrix_a, {m}, {n}, {k}, {element}, wmma::{a}_major> fa;
    wmma::fragment<wmma::matrix_b, {m}, {n}, {k}, {element}, wmma::{b}_major> fb;
    wmma::fragment<wmma::accumulator, {m}, {n}, {k}, {sums}> fc;
    wmma::load_matrix_sync(fa, {of}a, {lda});
    wmma::load_matrix_sync(fb, {of}b, {ldb});
    wmma::load_matrix_sync(fc, {of}c, {ldc}, wmma::mem_{c}_major);
    wmma::mma_sync(fc, fa, fb, fc);
    for (int i = 0; i < fc.num_elements; i++) fc.x[i] = fc.x[i] + fc.x[i];
    wmma::store_matrix_sync({of}c, fc, {ldc}, wmma::mem_{c}_major);
    for (int i = threadIdx.x; i < {m} * {n}; i += 32) d[i] = {of}c[i];
}}"""
SHARED = """__shared__ __align__(32) {kind} sa[{m} * {k}], sb[{k} * {n}];
    __shared__ __align__(32) {sums} sc[{m} * {n}];
    fill(sa, a, {m} * {k}); fill(sb, b, {k} * {n}); fill(sc, c, {m} * {n});"""


def multiplied(kind: str, sums: str, size: tuple[int, int, int], orders: tuple[str, str, str], shared: bool) -> None:
    """Small whole numbers, which every type holds, come out exactly, wherever and however they lie."""
    m, n, k = size
    random = np.random.default_rng(m)
    least = 0 if kind.startswith("unsigned") else -8
    a, b, c = (random.integers(least, 8, shape) for shape in ((m, k), (k, n), (m, n)))
    names = dict(zip(("lda", "ldb", "ldc"), (each.shape[order == "row"] for each, order in
                                             zip((a, b, c), orders, strict=True)), strict=True))  # fmt: skip
    names |= dict(zip("abcmnk", (*orders, *size), strict=True)) | {"kind": kind, "sums": sums}
    element = "wmma::precision::tf32" if kind == "float" else kind
    text = WMMA.format(
        **names, element=element, of="s" if shared else "", shared=SHARED.format(**names) if shared else ""
    )
    if not shared:
        text = text.replace("const ", "")

    def laid(values: Array, order: str, kind: str) -> Array:
        flat = np.ascontiguousarray(values if order == "row" else values.T).ravel()
        if kind == "__nv_bfloat16":
            return (flat.astype(np.float32).view(np.uint32) >> 16).astype(np.uint16).view(np.uint32)
        return flat.astype(C_TYPES[kind]).view(np.uint32)

    given = {name: laid(values, order, sums if name == "c" else kind)
             for name, values, order in zip("abc", (a, b, c), orders, strict=True)}  # fmt: skip
    watching = results.usual_observers()
    out = execute(text, dtype="", observers=watching, **given, d=np.zeros_like(given["c"]))["d"].view(C_TYPES[sums])
    found = out.reshape(m, n) if orders[2] == "row" else out.reshape(n, m).T
    np.testing.assert_array_equal(found.astype(np.int64), 2 * (a @ b + c))
    # Without a __syncwarp() between the store and what reads it: lanes of a warp need not run in step.
    # (An array that is passed as 32-bit words is not watched half by half.)
    kinds = {finding.kind for finding in results.findings(watching)}
    assert kinds == {"warp-race"} if shared else kinds <= {"global-race"}


def test_wmma_multiplies_matrices_from_shared_memory() -> None:
    multiplied("half", "float", (16, 16, 16), ("row", "row", "row"), True)


@pytest.mark.sampled(thorough=8)
@pytest.mark.parametrize("every", [case(False, quick=False), case(True, quick=False, thorough=False)])
@pytest.mark.parametrize(("kind", "sums", "size"), KINDS)
def test_wmma_multiplies_matrices_however_they_lie(
    kind: str, sums: str, size: tuple[int, int, int], every: bool
) -> None:
    ways = [(*orders, shared) for orders in itertools.product(("row", "col"), repeat=3) for shared in (False, True)]
    start = KINDS.index((kind, sums, size)) % 5
    for one, two, three, shared in ways if every else ways[start::9]:
        multiplied(kind, sums, size, (one, two, three), shared)


# ---- what goes wrong

TWO_WARPS = """#include <mma.h>
using namespace nvcuda;
extern "C" __global__ void f(const half *a, float *d) {
    __shared__ __align__(32) half s[2][256];
    int t = threadIdx.x, w = t / 32;
    for (int i = t; i < 512; i += blockDim.x) s[i / 256][i % 256] = a[i % 256];
    SYNC
    wmma::fragment<wmma::matrix_a, 16, 16, 16, half, wmma::row_major> fa;
    wmma::fragment<wmma::matrix_b, 16, 16, 16, half, wmma::col_major> fb;
    wmma::fragment<wmma::accumulator, 16, 16, 16, float> fc;
    wmma::fill_fragment(fc, 0.0f);
    IF {
        wmma::load_matrix_sync(fa, s[w] + FROM, 16);
        wmma::load_matrix_sync(fb, s[1 - w], 16);
        wmma::mma_sync(fc, fa, fb, fc);
    }
    wmma::store_matrix_sync(d + 256 * w, fc, 16, wmma::mem_row_major);
}"""


def found_in(block: int = 64, **parts: str) -> tuple[Array, list[str]]:
    text = TWO_WARPS
    for name, value in ({"SYNC": "__syncthreads();", "IF": "", "FROM": "0"} | parts).items():
        text = text.replace(name, value)
    a = np.random.default_rng(0).standard_normal(256).astype(np.float16)
    watching = results.usual_observers()
    out = execute(text, dtype="", block=block, observers=watching, a=a.view(np.uint32), d=np.zeros(512, np.float32))
    exact = a.reshape(16, 16).astype(np.float64) @ a.reshape(16, 16).T.astype(np.float64)
    return np.abs(out["d"].reshape(2, 16, 16) - exact), [finding.message for finding in results.findings(watching)]


def test_two_warps_multiply_within_the_error_of_float_sums() -> None:
    error, messages = found_in()
    assert error.max() < 16 * 2.0**-23 * 16 and not messages


def test_a_matrix_that_another_warp_may_still_be_writing_is_a_race() -> None:
    _, messages = found_in(SYNC="")
    assert sentence("race.matrix", messages[0])


def test_half_a_warp_cannot_multiply() -> None:
    _, messages = found_in(IF="if (t % 32 < 16)")
    assert sentence("emulator.half-a-warp-multiplies", messages[2])
    _, messages = found_in(block=48)
    assert messages[0].startswith("Line 13: warp 1 of block 0 executes wmma::load_matrix_sync() without its lanes 16")


def test_a_matrix_at_an_odd_address_ends_the_run() -> None:
    with refused("emulator.matrix-misaligned", RunFailed):
        found_in(FROM="1")

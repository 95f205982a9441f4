"""What wmma asks of memory, as the emulator counts it, against the machine code that the assembler makes of it.

The kernels are straight on, so that each load and store in the machine code is one request of the one warp.
"""

from __future__ import annotations

import itertools
import struct
from collections import Counter

import numpy as np
import pytest

from engine.backends.emulator.watching import results
from engine.compile.cubin import code_of
from engine.compile.nvrtc import compile_source
from engine.records import Source
from tests.backends.emulator.small_kernels import execute

pytestmark = pytest.mark.thorough

# Bits 0 to 11 of an instruction of sm_90: LDG, LD; STG, ST; LDS, LDSM.
OPCODES = {0x981: "global_load", 0x381: "global_load", 0x980: "global_load", 0x986: "global_store",
           0x386: "global_store", 0x985: "global_store", 0x385: "global_store", 0x984: "shared_load",
           0x83B: "shared_load"}  # fmt: skip
TEXT = """#include <mma.h>
using namespace nvcuda;
extern "C" __global__ void f(const {kind} *a, const {kind} *b, {sums} *d, int stride) {{
    {shared}
    wmma::fragment<wmma::matrix_a, {size}, {kind}, wmma::{a}_major> fa;
    wmma::fragment<wmma::matrix_b, {size}, {kind}, wmma::{b}_major> fb;
    wmma::fragment<wmma::accumulator, {size}, {sums}> fc;
    wmma::fill_fragment(fc, ({sums})0);
    wmma::load_matrix_sync(fa, {of}a, stride);
    wmma::load_matrix_sync(fb, {of}b, stride);
    wmma::mma_sync(fc, fa, fb, fc);
    wmma::store_matrix_sync(d, fc, stride, wmma::mem_{d}_major);
}}"""
# One load and one store of 16 bytes a lane for each 512 bytes.
SHARED = """__shared__ __align__(32) {kind} sa[2048], sb[2048];
    for (int i = 0; i < {turns}; i++) ((uint4 *)sa)[32 * i + threadIdx.x] = ((const uint4 *)a)[32 * i + threadIdx.x];
    for (int i = 0; i < {turns}; i++) ((uint4 *)sb)[32 * i + threadIdx.x] = ((const uint4 *)b)[32 * i + threadIdx.x];
    __syncthreads();"""
SIZES = ("16, 16, 16", "32, 8, 16", "8, 32, 16")
CASES = [("half", "float", size, orders, shared) for size in SIZES
         for orders in (("row", "row", "row"), ("col", "col", "col")) for shared in (False, True)]  # fmt: skip
CASES += [
    ("half", "half", SIZES[0], ("row", "col", "row"), True),
    ("half", "half", SIZES[0], ("col", "row", "row"), False),
]
SAME_ORDERS = (("row", "row", "row"), ("col", "col", "col"))
CASES += [("signed char", "int", SIZES[0], *way) for way in itertools.product(SAME_ORDERS, (False, True))]


@pytest.mark.sampled(quick=6, thorough=6)
@pytest.mark.parametrize(("kind", "sums", "size", "orders", "shared"), CASES)
def test_a_fragment_is_as_many_requests_as_the_machine_code_has(
    kind: str, sums: str, size: str, orders: tuple[str, str, str], shared: bool
) -> None:
    a, b, d = orders
    turns = 4 if kind == "signed char" else 8
    text = TEXT.format(kind=kind, sums=sums, size=size, a=a, b=b, d=d, of="s" if shared else "",
                       shared=SHARED.format(kind=kind, turns=turns) if shared else "")  # fmt: skip
    code = code_of(compile_source(Source("test.cu", text, ""), "sm_90"), "f")
    found = Counter(
        OPCODES.get(struct.unpack_from("<H", code, at)[0] & 0xFFF, "other") for at in range(0, len(code) - 15, 16)
    )
    watching = results.all_counters()
    execute(text, dtype="", observers=watching, a=np.zeros(1024, "u4"), b=np.zeros(1024, "u4"),
            d=np.zeros(4096, "u4"), stride=32)  # fmt: skip
    counted = results.details(watching)
    for name in ("global_load", "global_store", "shared_load"):
        assert counted[f"{name}_requests"] == found[name], name

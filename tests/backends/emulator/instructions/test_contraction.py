"""A product and a sum round as on the GPU, whose assembler makes one instruction of them or leaves them two.

The expected roundings were read off an H200; `pytest -m gpu` compares the bits of every case with the GPU at hand.
"""

from __future__ import annotations

from fractions import Fraction

import numpy as np
import pytest

import engine
from engine.lab.kernels import kernel as own_kernel
from engine.records import Array

pytestmark = pytest.mark.sampled(quick=2)

N = 1024
KERNEL = """#include <cuda_fp16.h>
#include <cuda_bf16.h>
__global__ void k(const {T} *A, const {T} *B, const {T} *C, const {T} *D, {T} *o, {T} *p, int n) {{
    int i = blockIdx.x * blockDim.x + threadIdx.x;
    {T} a = A[i], b = B[i], c = C[i], d = D[i];
    {body}
}}
"""
# The body, and o as (product's sign, addend) of a multiply-add, or as two roundings.
FUSED = {
    "o[i] = c - a * b;": ("-ab", "c"),
    "o[i] = a * b - c;": ("ab", "-c"),
    "o[i] = -(a * b) - c;": ("-ab", "-c"),
    "{T} t = a * b; o[i] = c - t; p[i] = d - t;": ("-ab", "c"),
    "{T} t = a * b; o[i] = c - t; p[i] = d + t;": ("-ab", "c"),
    "if (c > d) o[i] = c - a * b; else o[i] = c - a * b;": ("-ab", "c"),
}
APART = (
    "{T} t = a * b; o[i] = c - t; p[i] = t;",  # the product is stored, too
    "{T} t = a * b; o[i] = c - t; p[i] = d * t;",
    "{T} t = a * b; for (int k = 2; k < n; k++) c = c - t; o[i] = c;",  # in another basic block
    "{T} t = a * b; __shared__ {T} s[256]; s[i % 256] = t; __syncthreads(); o[i] = c - t; p[i] = s[i % 256 ^ 1];",
)
DEEPER = (  # compared with the GPU alone
    "o[i] = a * b - c * d; p[i] = a * d + b * c;",
    "{T} t = a - b; o[i] = c - t * t; p[i] = c * c - t;",
    "{T} t = a * b; o[i] = t - t * c;",
    "o[i] = c - a * b * d; p[i] = a - b * c - d * a;",
    "{T} t = a * b; o[i] = (c - t) + (d + t);",
    "{T} t = a * b, u = c; if (d > a) u = t; o[i] = c - u; p[i] = d - a * c;",
    "for (int k = 0; k < n; k++) { {T} t = a * b; a = c - t; b = t - d * a; } o[i] = a; p[i] = b;",
    "{T} t = a * b; a = d; o[i] = c - t; p[i] = a - t * t;",
    "{T} t = a * b; o[i] = t - t; p[i] = t + t - c;",
)
TYPES = {"float": "f4", "double": "f8", "half": "f2", "half2": "f2", "__nv_bfloat16": "u2"}


def text_of(body: str, kind: str = "float") -> str:
    return KERNEL.format(T=kind, body=body.replace("{T}", kind))


def arguments(kind: str = "float") -> list[Array | int]:
    random = np.random.default_rng(3)
    values = [random.random(2 * N) + 0.25 for _ in range(4)]
    if kind == "__nv_bfloat16":  # the upper half of a float32
        made = [(each.astype("f4").view("u4") >> 16).astype("u2") for each in values]
    else:
        made = [each.astype(TYPES[kind]) for each in values]
    return [*made, np.zeros_like(made[0]), np.zeros_like(made[0]), 3]


def once_rounded(a: Array, b: Array, c: Array) -> Array:
    return np.array(
        [float(Fraction(x) * Fraction(y) + Fraction(z)) for x, y, z in zip(*map(list, (a, b, c)), strict=True)]
    )


@pytest.mark.parametrize("body", FUSED)
def test_a_difference_takes_up_its_product(body: str) -> None:
    a, b, c, *_ = given = arguments("double")
    product, addend = FUSED[body]
    made = engine.kernel(text_of(body, "double")).run(N // 256, 256, given).arrays["o"][:N]
    signed = once_rounded(-a if product[0] == "-" else a, b, -c if addend[0] == "-" else c)[:N]
    assert np.array_equal(made, signed)
    assert not np.array_equal(made, (c - a * b)[:N]), "the data do not tell the two apart"


@pytest.mark.parametrize("body", APART)
def test_a_product_that_is_read_otherwise_is_rounded_first(body: str) -> None:
    a, b, c, *_ = given = arguments()
    made = engine.kernel(text_of(body)).run(N // 256, 256, given).arrays["o"][:N]
    assert np.array_equal(made, (c - a * b)[:N])


def test_a_rounding_that_is_named_stays() -> None:
    a, b, c, *_ = given = arguments()
    for body in ("o[i] = c - __fmul_rn(a, b);", "o[i] = __fsub_rn(c, a * b);"):
        assert np.array_equal(own_kernel(text_of(body)).run(N // 256, 256, given).arrays["o"][:N], (c - a * b)[:N])


def test_the_counts_are_those_of_the_ptx() -> None:
    counts = [
        engine.kernel(text_of(body)).run(N // 256, 256, arguments()).counters["thread_instructions"]
        for body in ("o[i] = c - a * b;", "o[i] = c - __fmul_rn(a, b);")
    ]
    assert counts[0] == counts[1]

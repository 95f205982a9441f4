"""Padding, unused fields and bit fields in shared memory: bytes that nobody has set and nobody uses are no mistake."""

from __future__ import annotations

import numpy as np
import pytest

import engine
from engine.lab.kernels import KernelRun

pytestmark = pytest.mark.sampled(quick=2)

FINE = {
    "an unused field": """__shared__ float4 s[64]; s[t].x = x[t]; s[t].y = 1; s[t].z = 2; __syncthreads();
        float4 p = s[63 - t]; out[t] = p.x + p.y + p.z;""",
    "an unused field is copied": """__shared__ float4 s[64]; s[t].x = x[t]; s[t].y = 1; s[t].z = 2; __syncthreads();
        ((float4 *)out)[t] = s[63 - t];""",
    "padding at the end": """struct P { char c; int i; short h; }; __shared__ P s[64];
        s[t].c = x[t]; s[t].i = x[t] * 3; s[t].h = 1; __syncthreads(); P q = s[63 - t]; __syncthreads();
        s[t] = q; __syncthreads(); out[t] = s[t].c + s[t].i + s[t].h;""",
    "padding inside": """struct P { int a; double b; char c; }; __shared__ P s[64], q[64];
        s[t].a = 1; s[t].b = 2; s[t].c = 3; __syncthreads(); q[t] = s[63 - t]; __syncthreads();
        out[t] = q[t].a + q[t].b + q[t].c;""",
    "padding behind four bytes": """struct P { double b; int a; }; __shared__ P s[64], q[64];
        s[t].a = 1; s[t].b = 2; __syncthreads(); q[t] = s[63 - t]; __syncthreads(); out[t] = q[t].a + q[t].b;""",
    "padding is copied out": """struct P { int b; char a; }; __shared__ P s[64]; s[t].a = 1; s[t].b = 2;
        __syncthreads(); P p = s[63 - t]; ((P *)out)[t] = p;""",
    "one bit field": """struct B { unsigned a : 4, b : 28; }; __shared__ B s[64]; s[t].a = x[t]; __syncthreads();
        out[t] = s[63 - t].a;""",
    "bit fields of one byte of a word": """struct B { unsigned a : 4, b : 4; }; __shared__ B s[64]; s[t].a = x[t];
        s[t].b = 1; __syncthreads(); out[t] = s[63 - t].a + 2 * s[t].b;""",
    "two bit fields": """struct B { unsigned a : 1, b : 3, c : 28; }; __shared__ B s[64]; s[t].a = 1; s[t].b = x[t];
        __syncthreads(); out[t] = s[63 - t].a + s[t].b;""",
    "short bit fields": """struct B { unsigned short a : 1, b : 3; unsigned char c : 4; }; __shared__ B s[64];
        s[t].b = x[t]; s[t].c = 3; __syncthreads(); out[t] = s[63 - t].b + s[t].c;""",
}
UNSET = {
    "the field is used": """__shared__ float4 s[64]; s[t].x = x[t]; s[t].y = 1; s[t].z = 2; __syncthreads();
        float4 p = s[63 - t]; out[t] = p.x + p.y + p.w;""",
    "no field is set": """__shared__ float4 s[64]; if (t < 32) s[t] = make_float4(1, 2, 3, 4); __syncthreads();
        ((float4 *)out)[t] = s[t];""",
    "a copy of numbers": "__shared__ int s[64], r[64]; if (t & 1) s[t] = 1; r[t] = s[t]; out[t] = r[t];",
    "a copy of bytes": "__shared__ char s[64]; if (t & 1) s[t] = 1; out[t] = s[t];",
    "a structure that nobody fills": """struct P { int b; char a; }; __shared__ P s[64], q[64]; if (t < 32) s[t].a = 1;
        if (t < 32) s[t].b = 2; __syncthreads(); q[t] = s[t]; __syncthreads(); out[t] = q[t].a + q[t].b;""",
    "a bit is added": "__shared__ unsigned s[64]; s[t] |= 1 << x[t] % 32; out[t] = s[t];",
    "bits of another byte are read": """__shared__ unsigned s[64]; ((unsigned char *)&s[t])[0] = 1; __syncthreads();
        out[t] = s[t] & 0xff00;""",
    "bits of a word are shifted": """__shared__ unsigned s[64]; if (t < 32) s[t] = 1; __syncthreads();
        out[t] = s[t] >> 9 & 15;""",
    "some bits are read": "__shared__ unsigned s[64]; if (t < 32) s[t] = 1; __syncthreads(); out[t] = s[t] & 15;",
    "masked for another place": """__shared__ unsigned s[64], r[64]; if (t < 32) s[t] = 1; __syncthreads();
        r[t] = s[t] & 15; __syncthreads(); out[t] = r[63 - t];""",
    "a bit field that nobody sets": """struct B { unsigned a : 4, b : 28; }; __shared__ B s[64];
        if (t < 32) s[t].a = x[t]; __syncthreads(); out[t] = s[63 - t].a;""",
}


def run_of(body: str) -> KernelRun:
    text = f"__global__ void k(const int *x, float *out) {{\n int t = threadIdx.x; {body} }}"
    return engine.kernel(text).run(3, 64, (np.arange(64, dtype=np.int32), np.zeros(256, np.float32)))


@pytest.mark.parametrize("name", FINE)
def test_bytes_that_nobody_uses_are_no_findings(name: str) -> None:
    assert not run_of(FINE[name]).findings


@pytest.mark.parametrize("name", UNSET)
def test_values_that_count_are_findings(name: str) -> None:
    assert "uninitialised-shared" in {finding.kind for finding in run_of(UNSET[name]).findings}

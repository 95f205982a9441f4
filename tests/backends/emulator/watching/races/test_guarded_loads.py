"""Loads that the compiler makes ahead of a condition: only the lanes that use the value take part in the checks."""

from __future__ import annotations

import numpy as np
import pytest

import engine
from engine.lab.kernels import KernelRun

pytestmark = pytest.mark.sampled(quick=2)

FINE = {
    "after the work of one warp": """__shared__ int s[64]; s[t] = x[t]; __syncthreads(); if (t < 32) s[t] += s[t + 32];
        int r = -1; if (t == 0) r = s[0]; out[t] = r;""",
    "a sum of two": """__shared__ int s[64]; s[t] = x[t]; __syncthreads(); if (t < 32) s[t] += s[t + 32];
        __syncwarp(); int r = -1; if (t == 0) r = s[0] + s[1]; out[t] = r;""",
    "computed first": """__shared__ int s[64]; s[t] = x[t]; __syncthreads(); s[t] = t;
        int r = -1; if (t == 0) r = s[0] + 1; out[t] = r * 0.5f;""",
    "a pair": """__shared__ float2 s[1]; if (t == 0) s[0] = make_float2(1, 2);
        float2 r = {}; if (t == 0) r = s[0]; out[t] = r.x + r.y;""",
    "a condition and a value": "__shared__ int s[1]; if (t == 0) s[0] = x[t]; out[t] = t == 0 && s[0] > 3;",
    "a condition and a branch": "__shared__ int s[1]; if (t == 0) s[0] = x[t]; if (t == 0 && s[0] > 3) out[t] = 1;",
    "a condition and a use": "__shared__ int s[1]; if (t == 0) s[0] = x[3]; if (t == 0 && s[0] > 2) out[1] = s[0];",
    "a condition and a loop": """__shared__ int c; if (t == 0) c = n; int k = 0; while (t == 0 && c > 0) { c--; k++; }
        out[t] = k;""",
    "a bool": "__shared__ bool s[1]; if (t == 0) s[0] = x[t]; bool r = t == 0 && s[0]; out[t] = r;",
    "set in a round before": """__shared__ int carry; int sum = 0;
        for (int r = 0; r < n; r++) { int before = r > 0 ? carry : 0; __syncthreads();
            if (t == 63) carry = before + x[t + r]; __syncthreads(); sum += before; } out[t] = sum;""",
    "set by some blocks": """__shared__ int base; if (blockIdx.x && t == 0) base = x[1]; __syncthreads();
        out[t + 64 * blockIdx.x] = blockIdx.x ? base : 7;""",
    "of a global array": "if (t == 33) total[2] += x[7]; int v = 5; if (t == 33) v = total[2]; out[t] = v;",
    "used behind a branch": """__shared__ int c; int v; bool p = t == 0; if (p) c = x[3]; if (p) v = c; __syncthreads();
        if (p && x[t] > -1) out[t] = v;""",
    "used behind two branches": """__shared__ int s[64]; s[t] = x[t]; __syncthreads(); int v;
        bool p = t == 0, q = x[t] > 5; if (p) v = s[0]; s[t] = 3; __syncthreads(); if (p) out[t] = v;
        if (q && p) out[t + 64] = v + 1;""",
    "used behind the branches of two threads": """__shared__ int s[64]; s[t] = x[t]; __syncthreads(); int v, w;
        if (t == 0) v = s[0]; if (t == 1) w = s[1]; s[t] = 3; __syncthreads();
        if (t == 0) out[t] = v; if (t == 1) out[t] = w + 1;""",
    "chosen, then behind a branch": """__shared__ int s[64]; s[t] = x[t]; __syncthreads(); int v;
        if (t == 0) v = s[0]; if (t == 1) v = s[1]; s[t] = 3; __syncthreads(); if (t < 2) out[t] = v;""",
    "behind the branch at once": """__shared__ int s[64]; s[t] = x[t]; __syncthreads(); int v;
        bool p = t < 1, q = x[t] > -1; if (p) v = s[0]; s[t] = 3; if (q && p) out[t] = v; else out[t] = 4;""",
    "by three lanes in turn": """__shared__ int s[64]; s[t] = x[t]; __syncthreads(); for (int i = 2; i >= 0; i--)
        if (t == i) out[t] = s[5]; if (t < 3) __syncwarp(7); if (t == 0) s[5] = 3;
        __syncthreads(); out[t + 64] = s[5];""",
    "from the heap": """int *p = (int *)malloc(8); int v = 0; if (n > 30) p[1] = 3; v = n > 30 ? p[1] : 2; out[t] = v;
        free(p);""",
}
RACY = {
    "the value is used": """__shared__ int s[64]; s[t] = x[t]; __syncthreads(); s[t] = t;
        int r = -1; if (t < 40) r = s[0]; out[t] = r;""",
    "used elsewhere, too": """__shared__ int s[64]; s[t] = x[t]; __syncthreads(); s[t] = t;
        int v = s[0], r = t == 0 ? v : -1; out[t] = r; out[t + 64] = v;""",
    "by another condition, too": """__shared__ int s[64]; s[t] = x[t]; __syncthreads(); s[t] = t;
        int v = s[0]; out[t] = t == 0 ? v : -1; out[t + 64] = t == 45 ? v : -1;""",
    "where the condition is false": """__shared__ int s[64]; s[t] = x[t]; __syncthreads(); s[t] = t;
        int r = s[0]; if (t == 0) r = 3; out[t] = r;""",
    "by a later block": """if (t == 33) total[2] += x[7]; int v = 5; if (t == 33) v = total[2];
        if (t == 0) v = total[2]; out[t] = v;""",
    "a use behind the other branch": """__shared__ int s[64]; s[t] = x[t]; __syncthreads(); s[t] = t;
        if (t == 0 && s[0] > 2) out[t] = 1; else out[t] = s[0];""",
    "a condition or a use": """__shared__ int s[64]; s[t] = x[t]; __syncthreads(); s[t] = t;
        if (t < 9 || s[0] > 2) out[t] = s[0];""",
    "a condition or a value": "__shared__ int s[1]; if (t == 0) s[0] = x[t]; out[t] = t == 0 || s[0] > 3;",
    "behind a branch of two threads": """__shared__ int s[64]; s[t] = x[t]; __syncthreads(); int v;
        bool p = t % 63 == 0; if (p) v = s[0]; s[t] = 3; __syncthreads(); if (p && x[t] > -1) out[t] = v;""",
    "behind either branch": """__shared__ int s[64]; s[t] = x[t]; __syncthreads(); int v; bool p = t == 0, q = x[t] > 5;
        if (q) v = s[0]; s[t] = 3; __syncthreads(); if (p || q) out[t] = v;""",
    "chosen, then behind no branch": """__shared__ int s[64]; s[t] = x[t]; __syncthreads(); int v = 0;
        if (t % 63 == 0) v = s[0]; s[t] = 3; __syncthreads(); out[t] = v + 1;""",
    "in the next round": """__shared__ int s[64]; s[t] = x[t]; __syncthreads(); int v = 0;
        for (int r = 0; r < n; r++) { if (r && t == 63) out[r] = v; v = s[r]; __syncwarp(); s[t] = v + r; }""",
}
UNSET = {
    "in the first round": """__shared__ int carry; int sum = 0;
        for (int r = 0; r < n; r++) { int before = r >= 0 && n > 3 ? carry : 0; __syncthreads();
            if (t == 63) carry = before + x[t + r]; __syncthreads(); sum += before; } out[t] = sum;""",
    "in the other blocks": """__shared__ int base; if (blockIdx.x && t == 0) base = x[1]; __syncthreads();
        out[t + 64 * blockIdx.x] = blockIdx.x ? 7 : base;""",
}


def run_of(body: str, blocks: int = 1, order: str | None = None) -> KernelRun:
    text = f"""__device__ int total[4];
        __global__ void k(const int *x, float *out, int n) {{ int t = threadIdx.x; {body} }}"""
    arguments = np.arange(128, dtype=np.int32), np.zeros(64 * 40, np.float32), 5
    return engine.kernel(text).run(blocks, 64, arguments, schedule=order)


def kinds(run: KernelRun) -> set[str]:
    return {finding.kind for finding in run.findings}


@pytest.mark.parametrize("order", [None, "independent:1"])
@pytest.mark.parametrize("name", FINE)
def test_discarded_values_are_no_findings(name: str, order: str | None) -> None:
    assert not run_of(FINE[name], 40 if "blockIdx" in FINE[name] else 1, order).findings


@pytest.mark.parametrize("name", RACY)
def test_used_values_are_findings(name: str) -> None:
    assert kinds(run_of(RACY[name])) & {"shared-race", "global-race"}


@pytest.mark.parametrize("name", UNSET)
def test_unset_values_are_findings(name: str) -> None:
    assert kinds(run_of(UNSET[name], 40)) == {"uninitialised-shared"}


def test_memory_is_counted_for_all_lanes() -> None:
    text = FINE["after the work of one warp"]
    guarded, plain = run_of(text), run_of(text.replace("int r = -1; if (t == 0) r = s[0];", "int r = s[0];"))
    assert guarded.counters["shared_load_requests"] == plain.counters["shared_load_requests"]

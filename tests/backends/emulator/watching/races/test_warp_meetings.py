"""Lanes of a warp that meet at different __syncwarp(), as branches have them: since Volta each may execute its own."""

from __future__ import annotations

import numpy as np
import pytest

import engine
from engine.lab.kernels import KernelRun

pytestmark = pytest.mark.sampled(quick=2)

FINE = {
    "in both branches": """if (h < 16) { s[t] = x[t]; __syncwarp(); } else { __syncwarp(); out[t] = s[t - 16]; }""",
    "in three branches": """if (h < 8) { s[t] = x[t]; __syncwarp(); } else if (h < 16) { s[t] = 5; __syncwarp(); }
        else { __syncwarp(); out[t] = s[t - 16]; }""",
    "twice": """if (h < 16) { s[t] = x[t]; __syncwarp(); out[t] = s[t + 16]; }
        else { s[t] = 2 * x[t]; __syncwarp(); out[t] = s[t - 16]; } __syncwarp(); s[t] = 1; __syncwarp();
        out[t + 64] = s[t ^ 1];""",
    "in a loop": """for (int k = 0; k < 3; k++) { if (h < 16) { s[t] = x[t] + k; __syncwarp(); }
        else { __syncwarp(); out[t] = s[t - 16]; } __syncwarp(); }""",
    "for a part of the warp": """if (h < 4) { s[t] = x[t]; __syncwarp(0xff); }
        else if (h < 8) { __syncwarp(0xff); out[t] = s[t - 4]; }""",
    "where some lanes have ended": """if (h >= 24) return; if (h < 12) { s[t] = x[t]; __syncwarp(); }
        else { __syncwarp(); out[t] = s[t - 12]; }""",
    "in some blocks": """if (h < 16 + 2 * blockIdx.x) { s[t] = x[t]; __syncwarp(); }
        else { __syncwarp(); out[t] = s[t - 16]; }""",
}
WRONG = {
    "a store behind it": """if (h < 16) { __syncwarp(); s[t] = x[t]; } else { __syncwarp(); out[t] = s[t - 16]; }""",
    "each branch names its own lanes": """if (h < 16) { s[t] = x[t]; __syncwarp(0xffff); }
        else { __syncwarp(0xffff0000); out[t] = s[t - 16]; }""",
    "another mask": """if (h < 16) { s[t] = x[t]; __syncwarp(); }
        else { __syncwarp(0xffff0001); out[t] = s[t - 16]; }""",
    "in one branch only": """if (h < 16) { s[t] = x[t]; __syncwarp(); } out[t] = 1; __syncwarp(); out[t] = 2;""",
    "another function": """int v = x[t]; if (h < 16) { s[t] = v; __syncwarp(); } else { v = __shfl_sync(~0u, v, 20);
        out[t] = s[t - 16] + v; }""",
}


def run_of(body: str, order: str | None) -> KernelRun:
    text = f"""__global__ void k(const int *x, int *all) {{ __shared__ int s[64]; int t = threadIdx.x, h = t % 32;
        int *out = all + 128 * blockIdx.x; {body} }}"""
    return engine.kernel(text).run(3, 64, (np.arange(64, dtype=np.int32), np.zeros(384, np.int32)), schedule=order)


@pytest.mark.parametrize("order", [None, "independent:1", "independent:2"])
@pytest.mark.parametrize("name", FINE)
def test_lanes_may_meet_at_different_calls(name: str, order: str | None) -> None:
    run = run_of(FINE[name], order)
    assert not run.findings
    if name == "in both branches":
        assert np.array_equal(run.arrays["all"][16:32], np.arange(16))


@pytest.mark.parametrize("order", [None, "independent:1"])
@pytest.mark.parametrize("name", WRONG)
def test_lanes_that_do_not_meet_are_found(name: str, order: str | None) -> None:
    assert {finding.kind for finding in run_of(WRONG[name], order).findings} & {"divergent-barrier", "warp-race"}

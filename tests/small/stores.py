"""The kernels: stores to shared memory, of which conditional ones may become one with another."""

from __future__ import annotations

import numpy as np

from tests.small.case import SmallCase

_BODIES = {
    "zero_then": "s[t] = 0; if (i < n) s[t] = in[i];",
    "else": "if (i < n) s[t] = in[i]; else s[t] = 0;",
    "ternary": "s[t] = i < n ? in[i] : 0;",
    "zero_add": "s[t] = 0; if (i < n) s[t] += in[i];",
    "two_adds": "s[t] = 0; if (i < n) s[t] += in[i]; if (i + 128 < n) s[t] += in[i + 128];",
    "load_add": "s[t] = in[i]; if (i + 128 < n) s[t] += in[i + 128];",
    "over": "s[t] = n; if (t < 16) s[t] = in[t];",
    "two_ifs": "if (t < 16) s[t] = in[t]; if (t >= 16) s[t] = 1;",
    "chain": "if (t < 16) s[t] = in[t]; else if (t < 100) s[t] = 2; else s[t] = n;",
    "three": "s[t] = 0; if (i < n) s[t] = in[i]; if (t == 3) s[t] = 7;",
    "most": "s[t] = -9; if (i < n) s[t] = max(s[t], in[i]);",
    "loop": "s[t] = 0; for (int k = i; k < n; k += 512) s[t] += in[k];",
    "halo": "s[t] = in[i]; if (t == 0) s[127] = in[n - 1];",
    "data": "s[t] = 0; if (in[i] > 40) s[t] = in[i];",
    "neighbour": "s[t] = 1; if (i < n) s[t ^ 1] = 2;",
    "twice": "s[t] = 1; if (i < n) { s[t] = in[i]; s[t] *= 3; }",
    "nested": "s[t] = 1; if (i < n) { s[t] = 2; if (in[i] & 1) s[t] = in[i]; }",
}
# The GPU counts a store that has to wait for its load as a request of warps without a lane, too; that has no wavefront.
COUNTERS = ("shared_store_wavefronts",)
_ARRAYS = {"in": (np.arange(512) * 37 % 101 + 1).astype(np.uint32), "out": np.zeros(512, np.uint32)}
CASES = tuple(
    SmallCase(
        f"store_{name}",
        f'extern "C" __global__ void store_{name}(const int *in, int *out, int n) {{ __shared__ int s[128]; '
        f"int t = threadIdx.x, i = blockIdx.x * blockDim.x + t; {body} __syncthreads(); out[i] = s[127 - t]; }}",
        3, 128, _ARRAYS, 300,
    )
    for name, body in _BODIES.items()
)  # fmt: skip

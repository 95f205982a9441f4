"""The kernels: a loop each, of which the threads of a warp take different numbers of turns."""

from __future__ import annotations

from collections.abc import Iterator

import numpy as np

from engine.records import Array
from tests.small.case import SmallCase

_LOOPS = {
    "below_t": "for (int k = 0; k < t; k++)",
    "length": "for (int k = 0; k < length[i]; k++)",
    "rows": "for (int k = row[i]; k < row[i + 1]; k++)",
    "from_t": "for (int k = t; k < 64; k++)",
    "step": "for (int k = t; k < 400; k += 32)",
    "down": "for (int k = length[i]; k > 0; k--)",
    "upto": "for (int k = 0; k <= length[i]; k++)",
    "unsigned": "for (unsigned k = 0; k < (unsigned)length[i]; k++)",
    "two": "for (int k = 0; k < length[i]; k += 2)",
    "while": "int m = length[i]; for (int k = 0; m-- > 0; k++)",
    "pointer": "const int *q = a + row[i], *e = a + row[i + 1]; for (int k = 0; q < e; q++, k++)",
    "unrolled": '_Pragma("unroll 2") for (int k = 0; k < length[i]; k++)',
    "rolled": '_Pragma("unroll 1") for (int k = 0; k < length[i]; k++)',
    "nested": "for (int r = 0; r < t % 3; r++) for (int k = 0; k < length[i + r]; k++)",
    "guarded": "if (t % 3) for (int k = 0; k < length[i]; k++)",
    "few": "unsigned m = length[i] & 7; for (unsigned k = 0; k <= m; k++)",
    "many": "unsigned m = length[i]; for (unsigned k = 0; k <= m; k++)",
    "at_least_one": "int m = 1 + (length[i] & 7); for (int k = 0; k < m; k++)",
    "between": "unsigned m = t + (length[i] & 7); for (unsigned k = t; k <= m; k++)",
    "falling": "unsigned m = 9 - (length[i] & 7); for (unsigned k = 9; k >= m; k--)",
}
_BODIES = {
    "sum": "c += a[k];",
    "gather": "c += a[a[k]];",
    "store": "if (a[k] & 1) out[4096 + k * 64 + t] = k;",
    "pair": "c += ((const int2 *)a)[k].y * ((const int2 *)a)[k].x;",
    "byte": "c += y[k + t];",
    "shared": "c += s[k] * s[k + t + 1];",
    "mixed": "c += s[k + t] * a[k];",
    "first": "if (a[k] > c) { c = a[k]; w = k; }",
}
_NEITHER = "two_shared"  # joined across turns, of which the machine code loads other parts in each piece
COUNTERS = ("global_load_requests", "global_load_sectors", "global_store_requests", "global_store_sectors",
            "shared_load_requests", "shared_load_wavefronts", "shared_load_conflicts")  # fmt: skip


def _arrays() -> dict[str, Array]:
    random = np.random.default_rng(5)
    length = random.integers(0, 40, 256).astype(np.uint32)
    row = np.concatenate([[0], np.cumsum(length)]).astype(np.uint32)
    a, y = (random.integers(0, 100, size).astype(np.uint32) for size in (1 << 17, 2048))
    return {"a": a, "y": y, "length": length, "row": row, "out": np.zeros(1 << 18, np.uint32)}


def _all() -> Iterator[SmallCase]:
    arrays = _arrays()
    for name, loop in _LOOPS.items():
        for other, body in _BODIES.items():
            kernel, shared = f"loop_{name}_{other}", "s[" in body
            if kernel.endswith(_NEITHER):
                continue
            fill = "__shared__ int s[4096]; for (int j = t; j < 4096; j += 64) s[j] = a[j]; __syncthreads();" * shared
            inside = body.replace("a[k]", "*q") if name == "pointer" else body
            yield SmallCase(kernel, (
                f'extern "C" __global__ void {kernel}(const int *a, const char *y, const int *length, const int *row, '
                "int *out, int n) { int t = threadIdx.x, i = blockIdx.x * blockDim.x + t, c = 0, w = 0; "
                f"{fill} {loop} {{ {inside} }} out[i] = c + w + {'s[t]' if shared else '0'}; }}"
            ), 2, 64, arrays, 1)  # fmt: skip


CASES = tuple(_all())

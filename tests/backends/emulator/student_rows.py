"""Code of students for one warp, with results as rows of 32 numbers, one per thread."""

from __future__ import annotations

from collections.abc import Sequence
from typing import Any

import numpy as np

from engine.records import Array
from tests.backends.emulator.small_kernels import execute

T = np.arange(32)
HEAD = "#define PUT(row, value) out[(row) * 32 + t] = (value)\n"


def rows(body: str, count: int, kind: str = "unsigned int", before: str = "", **options: Any) -> Array:
    """Return the `count` rows of 32 numbers that the body of a kernel PUTs."""
    dtype = {"unsigned int": "uint32", "int": "int32", "float": "float32", "double": "float64"}[kind]
    text = f'{HEAD}{before}\nextern "C" __global__ void f({kind} *out) {{ int t = threadIdx.x;\n{body}\n}}'
    return execute(text, out=np.zeros(count * 32, dtype), **options)["out"].reshape(count, 32)


def bits_of(lanes: Array) -> int:
    """Return the word of a ballot with these lanes set."""
    return int(sum(1 << int(lane) for lane in np.flatnonzero(lanes)))


def in_groups(keys: Sequence[int] | Array) -> list[int]:
    """Return for every lane the lanes with the same key."""
    return [bits_of(np.asarray(keys) == key) for key in keys]

"""The kernels of the catalogue as a list, for programs and for people."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import asdict
from typing import Any

from engine.catalogue import KERNELS, Kernel
from engine.plan import strides


def rows() -> list[dict[str, Any]]:
    """One flat row a kernel, as `python -m engine kernels --json` prints it."""
    return [
        {
            "kernel": kernel.name,
            "topic": kernel.topic,
            "title": kernel.title,
            "dtypes": kernel.dtypes,
            "block_sizes": kernel.offered_block_sizes,
            "combine": kernel.combines,
            "grid_free": strides(kernel),
            "parameter": None if kernel.parameter is None else asdict(kernel.parameter),
            "expect": kernel.expect,
            "file": kernel.file_name,
        }
        for kernel in KERNELS.values()
    ]


def lines() -> list[str]:
    """One line a kernel: its name, its title, and its knob where it has one."""
    return [f"{kernel.name:28} {kernel.title}{_knob(kernel)}" for kernel in KERNELS.values()]


def _knob(kernel: Kernel) -> str:
    own = kernel.parameter
    return f"  [--parameter: {own.label}, {_range(own.values)}, else {own.default:,}]" if own else ""


def _range(values: Sequence[int]) -> str:
    """ "1 to 32", or the values where some between are not offered."""
    if len(values) > 1 and list(values) == list(range(values[0], values[-1] + 1)):
        return f"{values[0]:,} to {values[-1]:,}"
    return " ".join(map(str, values))

"""Whether every run of a kernel gives the same bits."""

from __future__ import annotations

from engine.catalogue.entries import Kernel


def same_bits(kernel: Kernel, dtype: str, combine: str | None = None) -> bool | None:
    """Whether it does with this element type and way to combine blocks (None: its own); None of a kernel that is wrong,
    or right by luck."""
    if kernel.expect in ("wrong", "hazard", "deadlock"):
        return None
    rounded = not dtype.startswith("int")
    by_atomics = (combine or kernel.combines[0]) == "atomic"
    return kernel.varies != "order" and not (rounded and (by_atomics or kernel.varies == "floats"))

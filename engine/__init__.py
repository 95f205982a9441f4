"""The engine of Kernel Ladder: plans, compiles, runs, checks and times kernels. It never imports Streamlit.

run = engine.kernel("saxpy.cu", "saxpy").run((16,), (256,), (2.0, x, y, 4096))
"""

from __future__ import annotations

from pathlib import Path
from typing import TYPE_CHECKING

if TYPE_CHECKING:
    from engine.lab.kernels import OwnKernel


def kernel(source: str | Path, name: str | None = None) -> OwnKernel:
    """The kernel `name` of a .cu file or text, to be run on the emulator: see engine.lab.kernels."""
    from engine.lab import kernels  # heavy: the emulator, which not every part of the engine needs

    return kernels.kernel(source, name)

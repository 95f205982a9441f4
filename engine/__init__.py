"""The engine of Kernel Ladder: plans, compiles, runs, checks and times kernels. It never imports Streamlit.

run = engine.kernel("saxpy.cu", "saxpy").run((16,), (256,), (2.0, x, y, 4096))
"""

from __future__ import annotations

from pathlib import Path
from typing import TYPE_CHECKING, Any

from engine.store.cupy_cache import settle_cache

if TYPE_CHECKING:
    from collections.abc import Mapping

    from engine.lab.kernels import OwnKernel
    from engine.records import Array, Texture
    from engine.records.texture import AddressMode, Filter, ReadMode
    from engine.service.ladder_runs import LadderRuns
    from engine.sheets.grading import Graded

settle_cache()  # before any import of CuPy


def kernel(source: str | Path, name: str | None = None) -> OwnKernel:
    """The kernel `name` of a .cu file or text, to be run on the emulator: see engine.lab.kernels."""
    from engine.lab import kernels  # heavy: the emulator, which not every part of the engine needs

    return kernels.kernel(source, name)


def load_ipython_extension(shell: Any) -> None:
    """Add `%%cuda` to a notebook: see engine.lab.notebook. IPython calls this for `%load_ext engine`."""
    from engine.lab import notebook

    notebook.load(shell)


def grade(sheet: str, source: str | None = None, answers: Mapping[str, str] | None = None) -> Graded:
    """The grade of a kernel's text, and of the answers to questions, in a lab sheet: see engine.sheets.grading."""
    from engine.sheets import grading

    return grading.grade(sheet, source, answers or {})


def ladder(name: str) -> LadderRuns:
    """A whole ladder as a table, with recorded times: see engine.service.ladder_runs."""
    from engine.service import ladder_runs

    return ladder_runs.runs_of(name)


def texture(
    array: Array, *, channels: int = 1, filter: Filter = "point", address: AddressMode = "clamp",
    normalized: bool = False, read: ReadMode = "element",
) -> Texture:  # fmt: skip
    """A texture for a parameter of the type cudaTextureObject_t, with the options of cudaTextureDesc.

    `array`: [depth,] [height,] width[, channels]; with one channel the last axis is the width.
    """
    from engine.records.texture import texture as make

    return make(array, channels=channels, filter=filter, address=address, normalized=normalized, read=read)

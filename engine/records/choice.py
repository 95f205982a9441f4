"""A user's choice of a run, and the failures of runs."""

from __future__ import annotations

import re
from collections.abc import Callable
from dataclasses import dataclass
from typing import Any, Literal

import numpy as np
from numpy.typing import NDArray

Array = NDArray[Any]
Progress = Callable[[float, str], None]  # (fraction done 0..1, what is being done)

# The element types a kernel can be compiled for: name -> C type. C++ and NumPy have no bfloat16, only its 16 bits.
C_TYPES: dict[str, str] = {"int32": "int", "float32": "float", "float64": "double", "bfloat16": "unsigned short"}
CACHE_STATES: tuple[str, ...] = ("cold-clean", "cold-dirty", "hot")
DEVICES: tuple[str, ...] = ("auto", "gpu", "emulator")
SCHEDULES: tuple[str, ...] = ("lockstep", "independent:SEED", "waves:BLOCKS")  # the forms of a schedule

# How the partial sums of the blocks become one answer.
COMBINES: dict[str, str] = {
    "relaunch": "The kernel is launched again on the block sums, with the same block size, until one block is left.",
    "relaunch-resized": "As relaunch, but every level chooses its own block size: the lecture's open exercise.",
    "host": "The block sums are copied to the host, which adds them.",
    "atomic": "Every block adds its sum to the result with one atomic.",
    "last-block": "The block that finishes last adds the block sums: one launch.",
    "hand-over": "Every block hands its sum to the last block in one word that also says it is there: one launch.",
    "grid-sync": "All blocks wait for each other (grid sync), then one block adds the block sums: one launch.",
    "none": "Nothing to combine: every thread writes for itself.",
}

Status = Literal["ok", "wrong", "hazard", "refused", "compile-error", "out-of-bounds",
                 "deadlock", "timeout", "crashed"]  # fmt: skip


_LONG_WORD = re.compile(r"[^\s'\"`]{200,}")
_SHOWN = 40  # characters of such a word


def shortened(sentence: str) -> str:
    """Return a sentence with only the beginning of each word that is too long to read, such as a name of 5,000
    letters."""
    return _LONG_WORD.sub(lambda word: f"{word[0][:_SHOWN]} …", sentence)


class NotRunnable(Exception):
    """The choice cannot be run as asked, and the user can change it. `str(error)`: one sentence; `line`: of the .cu."""

    def __init__(self, sentence: str, line: int | None = None) -> None:
        super().__init__(shortened(sentence), line)
        self.line = line

    def __str__(self) -> str:
        return str(self.args[0])


class CompileError(Exception):
    """NVRTC refused the source. `str(error)` is one sentence with the .cu line; `log` is the compiler's whole log."""

    def __init__(self, sentence: str, log: str, line: int | None = None) -> None:
        super().__init__(shortened(sentence), log, line)
        self.log, self.line = log, line

    def __str__(self) -> str:
        return str(self.args[0])


class RunFailed(Exception):
    """A run ended without an answer: `status` is the contract's word for it, `str(error)` one sentence.

    `finding`: the kind of hazard that ended it ("out-of-bounds", "misaligned", "step-limit", ...), if a hazard ended
    it.
    """

    def __init__(self, status: Status, sentence: str, line: int | None = None, finding: str | None = None) -> None:
        super().__init__(status, shortened(sentence), line, finding)
        self.status, self.line, self.finding = status, line, finding

    def __str__(self) -> str:
        return str(self.args[1])


def status_of(error: Exception) -> Status:
    """The status of a run that ended in `error`."""
    if isinstance(error, RunFailed):
        return error.status
    if isinstance(error, NotRunnable):
        return "refused"
    return "compile-error" if isinstance(error, CompileError) else "crashed"


@dataclass(frozen=True)
class Choice:
    """A user's choice of a run. `grid_size`, `combine`, `parameter` and `schedule` may be None: the kernel's own rule
    decides.

    `parameter`: the kernel's own parameter, if it has one (a stride, a number of ways). `schedule`: the order in which
    the emulator runs lanes and blocks, "lockstep", "independent:SEED" or "waves:BLOCKS". `source`: text that replaces
    the file. `device`: one of DEVICES, or "gpu:" and the name of a GPU model; `settle` moves that name to `model`.
    `record`: the record of recorded runs that is shown beside it, by its name in engine.history.records; None: the
    first one. A run does not depend on it.
    """

    kernel: str
    n: int
    block_size: int
    grid_size: int | None = None
    dtype: str = "int32"
    cache: str = "cold-clean"
    device: str = "auto"
    combine: str | None = None
    parameter: int | None = None
    schedule: str | None = None
    source: str | None = None
    source_name: str | None = None
    model: str | None = None
    record: str | None = None


@dataclass(frozen=True)
class Settled(Choice):
    """A Choice with every value filled in: the device is "gpu" or "emulator", the combine and the parameter are named.

    `engine.plan.settle` makes it. Two equal Settled choices run the same.
    """


def dtype_of(name: str) -> np.dtype[Any]:
    """Return NumPy's dtype for a type name. KeyError: a bug of the caller."""
    return np.dtype({"int32": "i4", "uint32": "u4", "float32": "f4", "float64": "f8", "bfloat16": "u2"}[name])

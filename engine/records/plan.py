"""The steps that produce one answer, and what they need."""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import dataclass
from typing import Literal

from engine.records.choice import Settled, dtype_of


@dataclass(frozen=True)
class Source:
    """One translation unit. `name` is what messages call it; `defines` become compiler macros; `dtype` becomes `T`, and
    nothing does where it is empty.

    `capability`: the compute capability that its instructions need: "80", that or any later; "90a", that one and no
    other. `head`: what stands before the first line. `names`: the C++ names of kernels that are wanted, as
    "sum<float, 128>". `options`: more of the compiler's. `foreign`: the text is a student's, and is compiled in a
    process of its own with bounded time and memory.
    """

    name: str
    text: str
    dtype: str
    defines: tuple[tuple[str, int], ...] = ()
    capability: str = ""
    head: str = ""
    names: tuple[str, ...] = ()
    options: tuple[str, ...] = ()
    foreign: bool = False


@dataclass(frozen=True)
class Buffer:
    """Device memory of `count` elements. `fill`: "input" (the topic's data of that name), "poison", or "zero"."""

    name: str
    dtype: str
    count: int
    fill: Literal["input", "poison", "zero"]


@dataclass(frozen=True)
class Scalar:
    """A kernel argument passed by value."""

    dtype: str
    value: int | float


@dataclass(frozen=True)
class TensorMap:
    """Square matrices of bfloat16, `many` of them below each other, as Hopper's copy engine sees them: `width` elements
    a side, copied in boxes of `rows` x `columns`, of which a row has 128 bytes. It is passed by value."""

    buffer: str
    width: int
    rows: int
    columns: int
    many: int = 1


@dataclass(frozen=True)
class Launch:
    """One kernel launch. `args` are buffer names, scalars or maps, in the kernel's order. `shared_bytes`: of shared
    memory, beside what the kernel itself declares."""

    kernel: str
    source: Source
    grid: tuple[int, int, int]
    block: tuple[int, int, int]
    args: tuple[str | Scalar | TensorMap, ...]
    cooperative: bool = False
    shared_bytes: int = 0


@dataclass(frozen=True)
class Zero:
    """Set a buffer to zero: part of the plan and of its time."""

    buffer: str


@dataclass(frozen=True)
class HostSum:
    """Copy the first `count` elements of `buffer` to the host and add them there, in `buffer`'s element type."""

    buffer: str
    count: int


@dataclass(frozen=True)
class HostRun:
    """Run `function` of a source on the CPU, on one thread, compiled by the machine's C++ compiler: a scalar rung.

    `args` as for a launch; buffers lie in the host's memory. `stand_in(*args)` does the same in Python where there is
    no compiler: its answer is checked, but nothing is timed.
    """

    function: str
    source: Source
    args: tuple[str | Scalar, ...]
    stand_in: Callable[..., None]


Step = Launch | Zero | HostSum | HostRun


@dataclass(frozen=True)
class Plan:
    """The steps that produce one answer, with all that is needed to check and rate it.

    `result` names the buffer whose first `result_count` elements are the answer (with a final HostSum, the answer is
    that sum). `bytes_moved` and `flops` are the lecture's counts. `additions` is the longest chain of roundings, which
    the error bound is made of.
    """

    choice: Settled
    buffers: tuple[Buffer, ...]
    steps: tuple[Step, ...]
    result: str
    result_count: int
    bytes_moved: int
    flops: int
    additions: int
    grid_size: int

    @property
    def memory(self) -> int:
        """The bytes of its buffers."""
        return sum(buffer.count * dtype_of(buffer.dtype).itemsize for buffer in self.buffers)

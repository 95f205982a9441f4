"""A plan: the steps that produce one answer, and the memory they need."""

from __future__ import annotations

import re
from collections.abc import Callable
from dataclasses import dataclass
from typing import Literal

from engine.records.choice import Settled, dtype_of

# What ends a name in a compiler's line marker, and what makes a name an option of its command line.
_NOT_IN_A_NAME = re.compile(r'["\\\x00-\x1f\x7f\ud800-\udfff]|(?:(?<=/)|^)-')


def compiler_name(name: str) -> str:
    """Return the name of a file as the compiler gets it, with a "_" for each sign that it would obey."""
    return _NOT_IN_A_NAME.sub("_", name)


@dataclass(frozen=True)
class Source:
    """One translation unit. `name`: how messages call it, made a `compiler_name`; `defines`: compiler macros; `dtype`:
    the type that `T` means, or "".

    `capability`: the compute capability that its instructions need: "80" is that or any later, "90a" is that one only.
    `head`: text before the first line. `names`: the C++ names of kernels to instantiate, as "sum<float, 128>".
    `options`: more compiler options. `foreign`: a student's text, compiled in a separate process with bounded time and
    memory.
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

    def __post_init__(self) -> None:
        object.__setattr__(self, "name", compiler_name(self.name))


@dataclass(frozen=True)
class Buffer:
    """Device memory of `count` elements. `fill`: "input" (the topic's data of that name), "poison", or "zero".

    `restored`: the kernel itself sets it to zero again, for its next launch.
    """

    name: str
    dtype: str
    count: int
    fill: Literal["input", "poison", "zero"]
    restored: bool = False


@dataclass(frozen=True)
class Scalar:
    """A kernel argument passed by value."""

    dtype: str
    value: int | float


@dataclass(frozen=True)
class TensorMap:
    """`many` square matrices of bfloat16, one below the other, for Hopper's copy engine.

    Each is `width` elements a side and is copied in boxes of `rows` x `columns`. In shared memory the pieces of 16
    bytes change places within `swizzle` bytes (128, 64 or 32; 0: none), the most that a row of a box may have. Elements
    of a box outside all matrices are zeros. The map is passed by value.
    """

    buffer: str
    width: int
    rows: int
    columns: int
    many: int = 1
    swizzle: int = 128

    @property
    def extent(self) -> tuple[int, int]:
        """Return the elements of a row, and the rows of all matrices."""
        return self.width, self.many * self.width

    @property
    def row_bytes(self) -> int:
        """Return the bytes from one row to the next."""
        return self.width * dtype_of("bfloat16").itemsize


@dataclass(frozen=True)
class Launch:
    """One kernel launch. `args`: buffer names, scalars or maps, in the kernel's order. `shared_bytes`: dynamic shared
    memory."""

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
    """Run `function` of a source on one thread of the CPU, compiled by the computer's C++ compiler: a scalar rung.

    `args` as for a launch; buffers lie in host memory. `stand_in(*args)` does the same in Python if there is no
    compiler: its answer is checked, but nothing is timed.
    """

    function: str
    source: Source
    args: tuple[str | Scalar, ...]
    stand_in: Callable[..., None]


Step = Launch | Zero | HostSum | HostRun


@dataclass(frozen=True)
class Plan:
    """The steps that produce one answer, and what is needed to check and rate it.

    `result` names the buffer whose first `result_count` elements are the answer; with a final HostSum the answer is
    their sum. `bytes_moved` and `flops` are the lecture's counts. `additions`: the longest chain of roundings, from
    which the error bound follows.
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
        """The bytes of all buffers."""
        return sum(buffer.count * dtype_of(buffer.dtype).itemsize for buffer in self.buffers)

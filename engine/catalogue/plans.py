"""Parts of plans for all topics: a kernel's parameter, its source with macros, and a plan of one launch."""

from __future__ import annotations

import re
from collections.abc import Iterator, Mapping, Sequence
from math import ceil

from engine.catalogue.entries import Kernel
from engine.catalogue.gpu_models import GpuModel
from engine.records import Array, Buffer, Choice, Launch, NotRunnable, Plan, Scalar, Settled, Source, Step, dtype_of


def value_of_parameter(kernel: Kernel, choice: Choice) -> int:
    """Return the kernel's parameter as chosen, else its default; 1 for a kernel that has none."""
    value = kernel.value_of_parameter(choice.parameter)
    return 1 if value is None else value


MAX_THREADS = 2**28  # in a grid: an index plus one stride of the grid must fit 32 bits


def check_grid(choice: Choice) -> None:
    """Raise NotRunnable if a chosen grid has more threads than the kernels can count."""
    if choice.grid_size is not None and choice.grid_size * choice.block_size > MAX_THREADS:
        raise NotRunnable(
            f"A grid of {choice.grid_size:,} blocks of {choice.block_size} threads is too large: the kernels count "
            f"with 32 bits, so at most {MAX_THREADS // choice.block_size:,} blocks of this size."
        )


def given_source(kernel: Kernel, choice: Choice, *defines: tuple[str, int]) -> Source:
    """Return the kernel's file, or the text given in its place, with the macros that it names.

    A kernel that takes its block size from the launch thus has one source for all block sizes, compiled once.
    """
    text = kernel.text if choice.source is None else choice.source
    name = kernel.file_name if choice.source is None else (choice.source_name or kernel.file_name)
    named = tuple(define for define in defines if define[0] in text)
    text = text if choice.source is None else without_own(text, [macro for macro, _ in named])
    return Source(name, text, choice.dtype, named, kernel.capability, foreign=choice.source is not None)


_OWN = (  # definitions of a macro, of a number, and of the type T
    r"^[ \t]*#[ \t]*(?:define|undef)[ \t]+(?:{names})\b(?!\()[^\n]*$",
    r"^[ \t]*(?:(?:static|inline|__device__|__constant__|const|constexpr|unsigned|int|long|(?:std::)?size_t|auto)"
    r"[ \t]+)+(?:{names})[ \t]*=[^;,\n]*;",
    r"^(?:typedef[ \t]+[\w \t]+[ \t]T[ \t]*;|using[ \t]+T[ \t]*=[^;\n]*;|[ \t]*#[ \t]*define[ \t]+T\b(?!\()[^\n]*$)",
)


def without_own(text: str, macros: Sequence[str]) -> str:
    """Return a text without its own values of the launch's macros and without its own T, in the same lines: the launch
    gives both."""
    for pattern in _OWN if macros else _OWN[-1:]:
        text = re.sub(pattern.replace("{names}", "|".join(macros)), "", text, flags=re.MULTILINE)
    return text


def source_of(kernel: Kernel, choice: Choice, macros: Mapping[str, int] | None = None) -> Source:
    """Return the kernel's file, or the text in its place, with BLOCK_SIZE, its parameter and `macros` as macros."""
    defines = [("BLOCK_SIZE", choice.block_size)]
    if kernel.parameter is not None:
        defines.append((kernel.parameter.name, value_of_parameter(kernel, choice)))
    return given_source(kernel, choice, *defines, *(macros or {}).items())


def launch_of(
    kernel: Kernel,
    choice: Choice,
    args: tuple[str | Scalar, ...],
    threads: int,
    *,
    function: str | None = None,
    macros: Mapping[str, int] | None = None,
) -> Launch:
    """Return a launch of at least `threads` threads in blocks of `choice.block_size`; `function`: another one of the
    file."""
    return Launch(
        kernel=function or kernel.name,
        source=source_of(kernel, choice, macros),
        grid=(max(1, ceil(threads / choice.block_size)), 1, 1),
        block=(choice.block_size, 1, 1),
        args=args,
    )


def slots(dtype: str, blocks: int) -> Buffer:
    """Return the slots in which blocks hand over a number each: eight bytes for four of it, which the kernel resets to
    zero."""
    return Buffer("slots", "uint32", blocks * dtype_of(dtype).itemsize // 2, "zero", restored=True)


# Of kernels whose blocks have a few columns of a matrix each: lanes that read a piece of a row together, 16 bytes each.
PIECE_LANES = (8, 4, 2)
PIECE_LOADS = 4  # loads of a thread, in flight together
PIECE_THREADS = 480  # on each multiprocessor; with more threads wider pieces are faster (measured)


def filling_lanes(rows: int, vectors: int, threads: int, gpu: GpuModel) -> Iterator[int]:
    """Return the widths of pieces, widest first, with which blocks of so many threads fill the GPU, or have all their
    loads in flight at once. `vectors`: of 16 bytes, in a row."""
    for lanes in PIECE_LANES:
        filling = vectors // lanes * threads >= PIECE_THREADS * gpu.multiprocessors
        if filling or rows * lanes <= PIECE_LOADS * threads:
            yield lanes


def elements(choice: Choice) -> Scalar:
    """Return the argument n."""
    return Scalar("uint32", choice.n)


def plan_with(
    choice: Settled,
    buffers: tuple[Buffer, ...],
    steps: tuple[Step, ...],
    *,
    result: str = "out",
    result_count: int,
    moved: int,
    flops: int = 0,
    additions: int = 1,
    grid_size: int | None = None,
) -> Plan:
    """Return a Plan whose `moved` counts elements of the chosen type; the grid size is that of the first launch."""
    launches = [step for step in steps if isinstance(step, Launch)]
    return Plan(
        choice=choice,
        buffers=buffers,
        steps=steps,
        result=result,
        result_count=result_count,
        bytes_moved=moved * dtype_of(choice.dtype).itemsize,
        flops=flops,
        additions=additions,
        grid_size=grid_size or launches[0].grid[0],
    )


def wrapped(numbers: Array) -> Array:
    """Return int64 numbers wrapped to the hardware's 32 bits, still int64."""
    return (numbers + 2**31) % 2**32 - 2**31

"""The gate of a shared GPU: it runs only what has ended well on the emulator, with instructions that it supports.

try_on_emulator(kernel, grid, block, args) -> KernelRun

why_barred(ended, launches) -> the sentence of a refusal, or None
"""

from __future__ import annotations

from collections.abc import Iterable, Iterator, Sequence
from contextlib import contextmanager
from typing import Any

from engine.backends.emulator.instructions.dispatch import not_emulated
from engine.backends.emulator.launch import explain_errors
from engine.backends.emulator.loading import load
from engine.lab.arguments import Argument
from engine.lab.kernels import KernelRun, OwnKernel, Sizes
from engine.records import CompileError, NotRunnable, RunFailed, Source

NOT_TRIED = "A shared GPU runs only texts that ended well on the emulator, and this one did not"


def try_on_emulator(kernel: OwnKernel, grid: Sizes, block: Sizes, args: Sequence[Argument], **more: Any) -> KernelRun:
    """Launch on the emulator; `more` as of `Kernel.run`.

    NotRunnable: the launch met a wild access or a deadlock, took too long, or uses an unsupported instruction.
    """
    with _ended_well():
        _check_known([(kernel.source, kernel.symbol)])
        return kernel.run(grid, block, args, **more)


def why_barred(ended: Exception | None, launches: Iterable[tuple[Source, str]]) -> str | None:
    """Return why a shared GPU refuses to run this; None: it runs it.

    `ended`: the exception that ended the emulated run, None if it ended well; `launches`: the source and kernel of
    each.
    """
    try:
        with _ended_well():
            if ended is not None:
                raise ended
            _check_known(launches)
    except (NotRunnable, CompileError) as refused:
        return str(refused)
    return None


def _check_known(launches: Iterable[tuple[Source, str]]) -> None:
    """Raise NotRunnable for a kernel with an instruction, executed or not, that the emulator does not support."""
    for source, symbol in launches:
        with explain_errors(source.name):
            for item in not_emulated(load(source, symbol)):
                raise NotRunnable(
                    f"{source.name}, line {item.line}: the emulator does not know {item.opcode}, and a shared GPU runs "
                    "only what it has tried.",
                    item.line,
                )


@contextmanager
def _ended_well() -> Iterator[None]:
    try:
        yield
    except RunFailed as error:
        raise NotRunnable(f"{NOT_TRIED}: {error}") from None

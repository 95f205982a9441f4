"""The one gate before a GPU that others share: what a student wrote has ended well on the emulator, at a small n.

The emulator sees every access; a GPU sees an address that is nobody's, and then the process is lost. A trial proves
nothing for another n: behind it stand the guard zones and a worker that can be replaced.
"""

from __future__ import annotations

from collections.abc import Iterable, Iterator, Sequence
from contextlib import contextmanager
from typing import Any

from engine.backends.emulator.instructions.dispatch import not_emulated
from engine.backends.emulator.launch import explain_errors
from engine.backends.emulator.loading import load
from engine.lab.arguments import Argument
from engine.lab.kernel_run import KernelRun
from engine.lab.kernels import Kernel, Sizes
from engine.records import CompileError, NotRunnable, RunFailed, Source

NOT_TRIED = "A shared GPU runs what ended well on the emulator, and this did not"


def tried(kernel: Kernel, grid: Sizes, block: Sizes, args: Sequence[Argument], **more: Any) -> KernelRun:
    """The launch on the emulator; `more` as of `Kernel.run`.

    NotRunnable where it met a wild access or a deadlock, took too long, or uses what the emulator does not know."""
    with _ended_well():
        check_known([(kernel.source, kernel.symbol)])
        return kernel.run(grid, block, args, **more)


def barred(ended: Exception | None, launches: Iterable[tuple[Source, str]]) -> str | None:
    """Why a shared GPU does not run what ended so on the emulator, None: it does. `ended`: the exception, None where it
    ended well; `launches`: the source and the kernel of each."""
    try:
        with _ended_well():
            if ended is not None:
                raise ended
            check_known(launches)
    except (NotRunnable, CompileError) as refused:
        return str(refused)
    return None


def check_known(launches: Iterable[tuple[Source, str]]) -> None:
    """NotRunnable for a kernel with an instruction, reached or not, that the emulator does not know."""
    for source, kernel in launches:
        with explain_errors(source.name):
            for item in not_emulated(load(source, kernel)):
                raise NotRunnable(
                    f"{source.name}, line {item.line}: the emulator does not know {item.opcode}, and a shared GPU runs "
                    "only what it has tried."
                )


@contextmanager
def _ended_well() -> Iterator[None]:
    try:
        yield
    except RunFailed as error:
        raise NotRunnable(f"{NOT_TRIED}: {error}") from None

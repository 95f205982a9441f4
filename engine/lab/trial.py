"""What a student wrote reaches a GPU that others share only after it ended well on the emulator, at a small n.

The emulator sees every access; a GPU sees an address that is nobody's, and then the process is lost. A trial proves
nothing for another n: behind it stand the guard zones and a worker that can be replaced.
"""

from __future__ import annotations

from collections.abc import Iterator, Sequence
from contextlib import contextmanager
from dataclasses import replace
from typing import Any

from engine.backends.backend import quiet
from engine.backends.choice import backend_named
from engine.backends.emulator.instructions.dispatch import not_emulated
from engine.backends.emulator.launch import explained
from engine.backends.emulator.loading import load
from engine.lab.arguments import Argument
from engine.lab.kernel_run import KernelRun
from engine.lab.kernels import Kernel, Sizes
from engine.plan import plan
from engine.records import Launch, NotRunnable, Run, RunFailed, Settled, Source


def tried(kernel: Kernel, grid: Sizes, block: Sizes, args: Sequence[Argument], **more: Any) -> KernelRun:
    """The launch on the emulator; `more` as of `Kernel.run`.

    NotRunnable where it met a wild access or a deadlock, took too long, or uses what the emulator does not know."""
    _check_known(kernel.source, kernel.symbol)
    with _ended_well():
        return kernel.run(grid, block, args, **more)


def tried_choice(choice: Settled, n: int) -> Run:
    """The same for a catalogue's kernel with a text of the student's own, at another `n`."""
    made = plan(replace(choice, device="emulator", schedule=None, n=n))
    for step in made.steps:
        if isinstance(step, Launch):
            _check_known(step.source, step.kernel)
    with _ended_well():
        return backend_named("emulator").run(made, quiet)


def _check_known(source: Source, kernel: str) -> None:
    with _ended_well(), explained(source.name):
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
        raise NotRunnable(f"A shared GPU runs what ended well on the emulator, and this did not: {error}") from None

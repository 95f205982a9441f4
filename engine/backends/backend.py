"""What runs plans: the protocol that the GPU, the CPU and the emulator implement.

To add one: a class with these members, and a line in engine.backends.choice.
"""

from __future__ import annotations

from collections.abc import Mapping
from typing import Any, Protocol

from engine.records import Plan, Progress, Run, Timing


class Backend(Protocol):
    """Runs a plan on one kind of device, in this process. Never checks an answer: that is for whoever asks."""

    times: bool  # its times are worth showing
    counts: bool  # its runs carry counters, by line too
    traces: bool  # it can say step by step what one block did
    ordered: bool  # its lanes and blocks run in the order that a schedule says

    def describe(self) -> Mapping[str, Any]:
        """What runs: {kind, name, ...}, and for a GPU its limits."""

    def run(self, plan: Plan, progress: Progress) -> Run:
        """One execution, its result buffers poisoned before. NotRunnable, CompileError or RunFailed."""

    def time(self, plan: Plan, progress: Progress) -> Timing | None:
        """Samples of a plan whose answer was found right; None where there is nothing to time it with."""


def quiet(fraction: float, text: str) -> None:
    """A Progress that nobody listens to."""

"""The protocol that the GPU, the CPU and the emulator implement, and the choice of the backend that runs a plan.

To add a backend: a class with these members, and a line in _BACKENDS.
"""

from __future__ import annotations

from collections.abc import Callable, Mapping
from typing import Any, Protocol

from engine.backends.cpu import Cpu, host_step
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


def backend_of(plan: Plan) -> Backend:
    """The backend of the choice's device; of a plan that is one step on the CPU, the CPU beside that device."""
    kind = plan.choice.device
    return Cpu(kind) if host_step(plan) else backend_named(kind)


def backend_named(kind: str) -> Backend:
    """ "gpu" or "emulator"."""
    return _BACKENDS[kind]()


def _gpu() -> Backend:
    from engine.backends.gpu.backend import Gpu  # CuPy takes half a second to import: only where a GPU is used

    return Gpu()


def _emulator() -> Backend:
    from engine.backends.emulator.backend import Emulator  # and NVRTC, the parser and NumPy's kernels as long

    return Emulator()


_BACKENDS: dict[str, Callable[[], Backend]] = {"gpu": _gpu, "emulator": _emulator}

"""The protocol that the GPU, the CPU and the emulator implement, and the choice of the backend that runs a plan.

To add a backend: a class with these members, and a line in _BACKENDS.
"""

from __future__ import annotations

from collections.abc import Callable, Mapping
from typing import Any, Protocol

from engine.backends.cpu import Cpu, host_step
from engine.records import Plan, Progress, Run, Timing


class Backend(Protocol):
    """Runs a plan on one kind of device, in this process. A backend never checks an answer: its caller does."""

    times: bool  # its times are shown
    counts: bool  # its runs carry counters, by line too
    traces: bool  # it can trace the steps of one block
    ordered: bool  # its lanes and blocks run in the order of a schedule

    def describe(self) -> Mapping[str, Any]:
        """Describe the device: {kind, name, ...}, and a GPU's limits."""

    def run(self, plan: Plan, progress: Progress) -> Run:
        """Execute the plan once, with poisoned result buffers. NotRunnable, CompileError or RunFailed."""

    def time(self, plan: Plan, progress: Progress) -> Timing | None:
        """Time a plan whose answer was right; None if the device has no timer."""


def quiet(fraction: float, text: str) -> None:
    """Ignore a progress report."""


def backend_of(plan: Plan) -> Backend:
    """Return the backend of the choice's device; the CPU for a plan that is one step on the CPU."""
    kind = plan.choice.device
    return Cpu(kind) if host_step(plan) else backend_named(kind)


def backend_named(kind: str) -> Backend:
    """Return the backend "gpu" or "emulator"."""
    return _BACKENDS[kind]()


def _gpu() -> Backend:
    from engine.backends.gpu.backend import Gpu  # CuPy takes half a second to import

    return Gpu()


def _emulator() -> Backend:
    from engine.backends.emulator.backend import Emulator  # the emulator's imports take as long

    return Emulator()


_BACKENDS: dict[str, Callable[[], Backend]] = {"gpu": _gpu, "emulator": _emulator}

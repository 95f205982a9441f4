"""Which backend runs a plan."""

from __future__ import annotations

from collections.abc import Callable

from engine.backends.backend import Backend
from engine.backends.cpu import Cpu, host_step
from engine.records import Plan


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

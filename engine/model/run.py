"""Run a choice on the emulator for its costs, and read what its machine code adds."""

from __future__ import annotations

from dataclasses import dataclass, replace

from engine.backends.emulator import launch
from engine.catalogue import inputs_of
from engine.compile.cubin import code_of, read_resources
from engine.compile.machine_code import machine_code
from engine.compile.nvrtc import compile_source
from engine.model.costs import LaunchCosts
from engine.model.observer import CostObserver
from engine.plan import plan
from engine.records import Launch, Progress, Settled, Zero

_CAPABILITY = 90  # the machine code that the reader of machine code knows


@dataclass(frozen=True)
class RunCosts:
    """The costs of a run: of its launches, in order, and the number of buffers that it clears between them."""

    launches: tuple[LaunchCosts, ...]
    zeros: int


def costs_of(choice: Settled, seconds: float, progress: Progress | None = None) -> RunCosts:
    """Run a choice on the emulator, for at most so many seconds, and return its costs. NotRunnable, CompileError or
    RunFailed, as a run of the emulator."""
    made, watching = plan(choice), CostObserver()
    launch.run(made, inputs_of(made.choice), progress=progress, observers=(watching,), seconds=seconds)
    steps = [step for step in made.steps if isinstance(step, Launch)]
    costs = [with_machine_code(one, step) for one, step in zip(watching.costs(), steps, strict=True)]
    return RunCosts(tuple(costs), sum(isinstance(step, Zero) for step in made.steps))


def with_machine_code(costs: LaunchCosts, step: Launch) -> LaunchCosts:
    """Add the registers and the bytes in flight of the machine code."""
    cubin = compile_source(step.source, f"sm_{_CAPABILITY}")
    found = machine_code(code_of(cubin, step.kernel))
    return replace(
        costs,
        registers=read_resources(cubin, step.kernel, _CAPABILITY).registers,
        machine_in_flight=found.bytes_in_flight,
    )

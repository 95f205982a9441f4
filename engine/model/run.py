"""Run a plan on the emulator for its costs, and read what its machine code adds."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import dataclass, replace

from engine.backends.emulator import launch
from engine.backends.emulator.watching.observer import Observer
from engine.compile.cubin import code_of, read_resources
from engine.compile.machine_code import machine_code
from engine.compile.nvrtc import compile_source
from engine.model.costs import LaunchCosts
from engine.model.observer import CostObserver
from engine.records import Array, Launch, Plan, Progress, Run, Zero

_CAPABILITY = 90  # the machine code that the reader of machine code knows


@dataclass(frozen=True)
class RunCosts:
    """The costs of a run: of its launches, in order, and the number of buffers that it clears between them."""

    launches: tuple[LaunchCosts, ...]
    zeros: int


def costs_of(
    plan: Plan,
    inputs: Mapping[str, Array],
    progress: Progress | None = None,
    seconds: float | None = None,
    observers: Sequence[Observer] = (),
) -> tuple[RunCosts, Run]:
    """Run a plan on the emulator and return its costs beside the run. `observers`: that watch it as well. RunFailed or
    CompileError, as a run of the emulator."""
    watching = CostObserver()
    run = launch.run(plan, inputs, progress=progress, observers=(watching, *observers), seconds=seconds)
    return run_costs(plan, watching), run


def run_costs(plan: Plan, watching: CostObserver) -> RunCosts:
    """Return the costs that an observer of this plan's run has collected."""
    steps = [step for step in plan.steps if isinstance(step, Launch)]
    made = [with_machine_code(one, step) for one, step in zip(watching.costs(), steps, strict=True)]
    return RunCosts(tuple(made), sum(isinstance(step, Zero) for step in plan.steps))


def with_machine_code(costs: LaunchCosts, step: Launch) -> LaunchCosts:
    """Add the registers and the bytes in flight of the machine code."""
    cubin = compile_source(step.source, f"sm_{_CAPABILITY}")
    found = machine_code(code_of(cubin, step.kernel))
    return replace(
        costs,
        registers=read_resources(cubin, step.kernel, _CAPABILITY).registers,
        machine_in_flight=found.bytes_in_flight,
    )

"""Trace one block of one launch, step by step, on the emulator. trace(choice, block) -> Trace"""

from __future__ import annotations

from dataclasses import replace

from engine.backends.backend import backend_of
from engine.backends.emulator.backend import SECONDS
from engine.backends.emulator.launch import Device, launch
from engine.backends.emulator.state.machine import Options
from engine.backends.emulator.state.schedule import parse_schedule, schedule_line
from engine.backends.emulator.watching.lane_values import ValueTracer
from engine.backends.emulator.watching.trace import Done, Trace, Tracer
from engine.catalogue.inputs import inputs_of
from engine.plan import plan
from engine.records import Launch, NotRunnable, Plan, Progress, RunFailed, Settled, Zero


def trace(
    choice: Settled, block: int = 0, progress: Progress | None = None, *, launch: int = 1, values: bool = False
) -> Trace:
    """Trace block number `block` of launch number `launch` (from 1) on the emulator, whatever `choice.device` says.

    `values`: keep the lanes' values too. A failing run gives the steps up to the failure. NotRunnable: there is no such
    block, or no launch. CompileError: the source does not compile.
    """
    made = plan(replace(choice, device="emulator"))
    launches = [step for step in made.steps if isinstance(step, Launch)]
    if not backend_of(made).traces:
        raise NotRunnable(f"{choice.kernel} runs on one thread of the CPU: there is no block to look into.")
    if not 1 <= launch <= len(launches):
        raise NotRunnable(f"There is no launch {launch}: this choice makes {len(launches)}.")
    asked = launches[launch - 1]
    blocks = asked.grid[0] * asked.grid[1] * asked.grid[2]
    if not 0 <= block < blocks:
        raise NotRunnable(f"There is no block {block:,}: launch {launch} has blocks 0 to {blocks - 1:,}.")
    tracer = ValueTracer(block, launch - 1, choice.dtype) if values else Tracer(block, launch - 1)
    return _traced(made, launches, tracer, progress)


def _traced(plan: Plan, launches: list[Launch], tracer: Tracer, progress: Progress | None) -> Trace:
    order = parse_schedule(plan.choice.schedule)
    options = Options(seconds=SECONDS)
    inputs, device = inputs_of(plan.choice), Device()
    for buffer in plan.buffers:
        device.place(buffer, inputs)
    ended = None
    try:
        for step in plan.steps:
            if isinstance(step, Launch):
                launch(device, step, [tracer], order, options, progress)
            elif isinstance(step, Zero):
                device.arrays[step.buffer].data[:] = 0
    except Done:
        pass
    except RunFailed as error:
        tracer.stop()
        ended = str(error)
    asked = launches[tracer.launch]
    return Trace(
        kernel=asked.kernel,
        source=asked.source.text,
        block=tracer.block,
        blocks=asked.grid[0] * asked.grid[1] * asked.grid[2],
        threads=asked.block[0] * asked.block[1] * asked.block[2],
        launch=tracer.launch + 1,
        launches=len(launches),
        schedule=schedule_line(order),
        steps=tuple(tracer.steps),
        steps_in_all=tracer.steps_in_all,
        ended=ended,
        shape=asked.block,
        arrays=tracer.arrays,
    )

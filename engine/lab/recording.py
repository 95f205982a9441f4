"""Record a block for the debugger: one run of an unoptimised build, with the registers that hold its variables."""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import replace
from functools import partial

from engine.backends.emulator.backend import SECONDS
from engine.backends.emulator.launch import Device, launch
from engine.backends.emulator.state.machine import Options
from engine.backends.emulator.state.schedule import Schedule, parse_schedule, schedule_line
from engine.backends.emulator.watching.observer import Observer
from engine.backends.emulator.watching.one_block import TraceDone
from engine.backends.emulator.watching.recorder import MOST_BYTES, LastWriter, Recorder
from engine.catalogue import inputs_of
from engine.compile.debug_info import DebugInfo, debug_info
from engine.compile.names import readable
from engine.compile.nvrtc import EMULATED_ARCHITECTURE, UNOPTIMISED, compile_source
from engine.lab.debugger import Debugger, register_name
from engine.plan import plan
from engine.records import Launch, NotRunnable, RunFailed, Settled, Source, Zero


def unoptimised(source: Source) -> Source:
    """Return the source for an unoptimised build."""
    return replace(source, options=(*source.options, UNOPTIMISED))


def recorder_of(step: Launch, block: int, launch: int = 0, most_bytes: int = MOST_BYTES) -> Recorder:
    """Return the recorder of a block of an unoptimised launch. NotRunnable: the launch has no such block."""
    blocks = step.grid[0] * step.grid[1] * step.grid[2]
    if not 0 <= block < blocks:
        raise NotRunnable(f"There is no block {block:,}: the launch has blocks 0 to {blocks - 1:,}.")
    return Recorder(block, _wanted(_info(step.source)), launch, most_bytes)


def debugger_of(recorder: Recorder, step: Launch, text: str, order: Schedule, failed: str | None) -> Debugger:
    """Return the debugger of a recorded launch. `failed`: why its run has failed."""
    recording = recorder.recording(step.block, step.grid, failed)
    name = readable(step.kernel)
    return Debugger(recording, _info(step.source), name, text, order=schedule_line(order))


def record_rung(
    choice: Settled,
    block: int = 0,
    number: int = 1,
    element: tuple[str, int] | None = None,
    most_bytes: int = MOST_BYTES,
) -> Debugger:
    """Record a block of launch `number` (from 1) of a choice; with an `element` of an array, the block that writes it
    last.

    NotRunnable: there is no such block, launch or writer. CompileError: the source does not compile.
    """
    made = plan(replace(choice, device="emulator"))
    steps = [replace(one, source=unoptimised(one.source)) if isinstance(one, Launch) else one for one in made.steps]
    launches = [one for one in steps if isinstance(one, Launch)]
    if not launches:
        raise NotRunnable(f"{choice.kernel} runs on one thread of the CPU: there is no block to look into.")
    if not 1 <= number <= len(launches):
        raise NotRunnable(f"There is no launch {number}: this choice makes {len(launches)}.")
    order = parse_schedule(choice.schedule)

    def execute(observer: Observer) -> str | None:
        device, inputs = Device(), inputs_of(made.choice)
        for buffer in made.buffers:
            device.place(buffer, inputs)
        for one in steps:
            if isinstance(one, Launch):
                failed = watched(partial(launch, device, one, [observer], order, Options(seconds=SECONDS)))
                if failed is not None:
                    return failed
            elif isinstance(one, Zero):
                device.arrays[one.buffer].data[:] = 0
        return None

    if element is not None:
        writer = LastWriter(*element)
        execute(writer)
        block, number = block_of(writer, element), 1 + (writer.launch or 0)
    step = launches[number - 1]
    recorder = recorder_of(step, block, number - 1, most_bytes)
    failed = execute(recorder) or None
    found = debugger_of(recorder, step, step.source.text, order, failed)
    return replace(found, launch=number, launches=len(launches))


def watched(run: Callable[[], object]) -> str | None:
    """Run a launch for its observer; return why it failed, "" if the observer has ended it, None if it ended itself."""
    try:
        run()
    except TraceDone:
        return ""
    except RunFailed as error:
        return str(error)
    return None


def block_of(writer: LastWriter, element: tuple[str, int]) -> int:
    """Return the block that wrote an element last. NotRunnable: none did."""
    if writer.block is None:
        raise NotRunnable(f"No thread writes {element[0]}[{element[1]:,}].")
    return writer.block


def _info(source: Source) -> DebugInfo:
    return debug_info(compile_source(source, EMULATED_ARCHITECTURE).decode())


def _wanted(info: DebugInfo) -> dict[int, dict[int, str]]:
    """Return the results to record: of each place the ones that go to a register of a variable."""
    found: dict[int, dict[int, str]] = {}
    for function in info.functions:
        registers = info.registers_of(function)
        for place in range(function.low, function.high):
            for number, name in enumerate(info.results.get(place, ())):
                if name in registers:
                    found.setdefault(place, {})[number] = register_name(function, name)
    return found

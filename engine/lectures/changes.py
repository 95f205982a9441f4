"""What a kernel does inside: a trace of one block, a counter by source line, what a rung changed.

trace(choice, block) -> Trace                 heat(measurement, counter) -> {line: value}
change(before, after, counter) -> Change      meant(ladder, position) -> (counter, direction)
"""

from __future__ import annotations

import hashlib
from collections.abc import Mapping
from dataclasses import dataclass, replace
from typing import TYPE_CHECKING

from engine.counters import COUNTERS, FINDINGS, LAUNCHES, ON_LINES, with_derived
from engine.history.history import ran_on_cpu
from engine.measuring.measure import EMULATOR_SECONDS, inputs_of
from engine.plan import plan
from engine.records import Choice, HostRun, Launch, Measurement, NotRunnable, Plan, Progress, RunFailed, Zero
from engine.words import text_of

if TYPE_CHECKING:
    from engine.backends.emulator.watching.trace import Trace
    from engine.catalogue import Ladder
    from engine.service.queue import Handle

TRACE_DEADLINE_S = 60.0
_LITTLE = 1.05  # below this factor the difference says more


def trace(
    choice: Choice, block: int = 0, progress: Progress | None = None, *, launch: int = 1, schedule: str | None = None
) -> Trace:
    """What block number `block` of launch number `launch` (from 1) did, on the emulator, whatever `choice.device` says.

    A run that fails gives the steps up to the failure. NotRunnable: there is no such block, or nothing to look into.
    CompileError: the source does not compile.
    """
    made = plan(replace(choice, device="emulator"))
    launches = [step for step in made.steps if isinstance(step, Launch)]
    if not launches or any(isinstance(step, HostRun) for step in made.steps):
        raise NotRunnable(f"{choice.kernel} runs on one thread of the CPU: there is no block to look into.")
    if not 1 <= launch <= len(launches):
        raise NotRunnable(f"There is no launch {launch}: this choice makes {len(launches)}.")
    asked = launches[launch - 1]
    blocks = asked.grid[0] * asked.grid[1] * asked.grid[2]
    if not 0 <= block < blocks:
        raise NotRunnable(f"There is no block {block:,}: launch {launch} has blocks 0 to {blocks - 1:,}.")
    return _traced(made, launches, launch, block, progress, schedule)


def _traced(
    plan: Plan, launches: list[Launch], number: int, block: int, progress: Progress | None, schedule: str | None
) -> Trace:
    import time

    from engine.backends.emulator.launch import Device, launch
    from engine.backends.emulator.state.machine import Options
    from engine.backends.emulator.state.schedule import parse_schedule, schedule_line
    from engine.backends.emulator.watching.trace import Done, Trace, Tracer

    order = parse_schedule(schedule)
    options = Options(deadline=time.monotonic() + EMULATOR_SECONDS)
    inputs, device = inputs_of(plan.choice), Device()
    for buffer in plan.buffers:
        device.place(buffer, inputs)
    tracer = Tracer(block, number - 1)
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
    asked = launches[number - 1]
    return Trace(
        kernel=asked.kernel,
        source=asked.source.text,
        block=block,
        blocks=asked.grid[0] * asked.grid[1] * asked.grid[2],
        threads=asked.block[0] * asked.block[1] * asked.block[2],
        launch=number,
        launches=len(launches),
        schedule=schedule_line(order),
        steps=tuple(tracer.steps),
        steps_in_all=tracer.steps_in_all,
        ended=ended,
    )


def submit_trace(
    choice: Choice, block: int, session: str, *, launch: int = 1, schedule: str | None = None, fresh: bool = False
) -> Handle:
    """`trace` on a worker; the handle's result is a Trace. Equal requests share one run."""
    from engine.catalogue import kernel_named
    from engine.service import service
    from engine.service.queue import Job

    settled = replace(choice, device="emulator")
    same = repr(("trace", kernel_named(choice.kernel).text, settled, block, launch, schedule))
    job = Job(
        "engine.lectures.changes:trace",
        (settled, block),
        deadline=TRACE_DEADLINE_S,
        key=hashlib.sha256(same.encode()).hexdigest(),
        keywords=(("launch", launch), ("schedule", schedule)),
        device="emulator",
    )
    return service.connect().submit(job, session, fresh=fresh)


# ---- counters by line, and from rung to rung


def values_of(measurement: Measurement | None) -> dict[str, float | None]:
    """Every counter of ON_LINES over the whole run; None where it was not counted, as on the CPU."""
    if measurement is None or not measurement.counters:
        return dict.fromkeys(ON_LINES)
    found = {**with_derived(measurement.counters), FINDINGS: len(measurement.findings),
             LAUNCHES: _launches(measurement)}  # fmt: skip
    return {name: found.get(name) for name in ON_LINES}


def _launches(m: Measurement) -> int | None:
    """How many kernel launches gave the answer; None where what was run can no longer be planned."""
    from engine.catalogue import KERNELS

    kernel = KERNELS.get(m.kernel)
    grid = m.grid_size if kernel and kernel.coverage is None else None
    try:
        made = plan(Choice(m.kernel, m.n, m.block_size, grid, m.dtype, combine=m.combine, parameter=m.parameter))
    except NotRunnable:
        return None
    return sum(isinstance(step, Launch) for step in made.steps)


def heat(measurement: Measurement, counter: str) -> dict[int, float]:
    """The value of `counter` at each .cu line that was executed; lines where it was not counted are left out."""
    if counter == FINDINGS:
        lines = [line for f in measurement.findings for line in {f["line"], f["other_line"]} if line]
        return {line: float(lines.count(line)) for line in sorted(set(lines))}
    if COUNTERS[counter].whole_run:
        return {}
    values = {int(line["line"]): with_derived(line).get(counter) for line in measurement.lines}
    return {line: value for line, value in values.items() if value is not None}


def shares(values: Mapping[int, float], counter: str) -> dict[int, float]:
    """How hot each line is, 0 to 1: its part of the hottest line; of active lanes, how many of 32 are missing."""
    full = COUNTERS[counter].full
    if full is not None:
        return {line: 1 - value / full for line, value in values.items()}
    most = max(values.values(), default=0.0)
    return {line: value / most if most else 0.0 for line, value in values.items()}


@dataclass(frozen=True)
class Change:
    """One counter before and after a rung, and the sentence that says what became of it. None: not counted.

    `direction`: "fall", "rise" or "stay"; empty where it was not counted.
    """

    counter: str
    title: str
    before: float | None
    after: float | None
    sentence: str
    direction: str = ""


def change(before: Measurement | None, after: Measurement | None, counter: str) -> Change:
    """What a rung did to `counter`, against the rung before."""
    old, new = values_of(before)[counter], values_of(after)[counter]
    title, words = COUNTERS[counter].label, COUNTERS[counter].title
    if old is None or new is None:
        return Change(counter, title, old, new, _uncounted(before if old is None else after, words))
    if old == new:
        return Change(counter, title, old, new, f"{words} stay at {_or_none(counter, new)}.", "stay")
    verb = "fall" if new < old else "rise"
    factor = ""
    if old and new:
        ratio = max(old, new) / min(old, new)
        by = text_of(counter, abs(new - old))
        factor = f", a factor of {_factor(ratio)}" if ratio >= _LITTLE else f", by {by}"
    sentence = f"{words} {verb} from {_or_none(counter, old)} to {_or_none(counter, new)}{factor}."
    return Change(counter, title, old, new, sentence, verb)


def _or_none(counter: str, value: float) -> str:
    return text_of(counter, value) if value else "none"


def _uncounted(run: Measurement | None, words: str) -> str:
    """Why a counter of `run` cannot be compared."""
    why = f"{words} were not counted on both rungs"
    if run is not None and ran_on_cpu(run):
        why = f"{run.kernel} runs on the CPU, where nothing is counted"
    elif run is not None and run.status == "deadlock":
        why = f"{run.kernel} never ends in this order of execution"
    return f"{why}, so there is nothing to compare."


def _factor(ratio: float) -> str:
    return f"{ratio:.2f}" if ratio < 2 else f"{ratio:.1f}" if ratio < 100 else f"{ratio:,.0f}"


def meant(ladder: Ladder, position: int) -> tuple[str, str] | None:
    """(counter, "fall", "rise" or "stay"): what a rung is meant to show against the one before; None: nothing."""
    from engine.catalogue import KERNELS
    from engine.lectures.meant import meant as told

    rungs = ladder.rungs
    before = KERNELS[rungs[position - 1].kernel] if position else None
    text = told(before, KERNELS[rungs[position].kernel])
    return (text.lstrip("+="), {"+": "rise", "=": "stay"}.get(text[0], "fall")) if text else None


def shown_counter(ladder: Ladder, position: int) -> str:
    """The counter to look at on a rung: what it is meant to change.

    On the first: what the next one will bring down, else what its kernel is about.
    """
    from engine.catalogue import KERNELS

    here = meant(ladder, position)
    if here:
        return here[0]
    after = meant(ladder, position + 1) if position + 1 < len(ladder.rungs) else None
    own = KERNELS[ladder.rungs[position].kernel].shows.lstrip("+=") if not position else ""
    if own and after and after[1] != "fall":
        return own
    return after[0] if after else own or "warp_instructions"

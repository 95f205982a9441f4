"""What a kernel does inside: a trace of one block, a counter by source line, what a rung changed, what a GPU counted.

trace(choice, block) -> Trace                 heat(measurement, counter) -> {line: value}
change(before, after, counter) -> Change      recorded(choice) -> Hardware
"""

from __future__ import annotations

import hashlib
import json
from collections.abc import Mapping, Sequence
from dataclasses import dataclass, replace
from functools import lru_cache
from pathlib import Path
from typing import TYPE_CHECKING, Any

from engine.measure import EMULATOR_SECONDS, inputs_of
from engine.plan import plan as plan_of
from engine.records import Choice, HostRun, Launch, Measurement, NotRunnable, Plan, Progress, RunFailed, Zero

if TYPE_CHECKING:
    from engine.catalogue import Ladder
    from engine.jobs import Handle
    from engine.ptx.trace import Trace

TRACE_DEADLINE_S = 60.0
FINDINGS = "findings"
# What a line or a rung can be looked at by: the counters of tables and these, which only this page needs. Instruction
# and branch counts are those of the PTX.
TITLES: dict[str, str] = {
    "warp_instructions": "Warp instructions (PTX)",
    "branches": "Branches (PTX)",
    "divergent_branches": "Divergent branches (PTX)",
    "active_lanes_per_instruction": "Active lanes (PTX)",
    "bank_conflicts": "Bank conflicts",
    "wavefronts": "Shared wavefronts",
    "shared_load_requests": "Shared load requests",
    "sectors": "Global sectors",
    "sectors_per_request": "Sectors per request",
    "global_load_sectors": "Global load sectors",
    "global_load_requests": "Global load requests",
    "barriers": "Barriers",
    "atomics": "Atomics",
    "shuffles": "Shuffles",
    FINDINGS: "Hazards found",
}
PTX_COUNTED = frozenset(name for name, title in TITLES.items() if title.endswith("(PTX)"))
_RECORDED = ("recorded/counters*.json", "tests/golden/catalogue.json")


def trace(
    choice: Choice, block: int = 0, progress: Progress | None = None, *, launch: int = 1, schedule: str | None = None
) -> Trace:
    """What block number `block` of launch number `launch` (from 1) did, on the emulator, whatever `choice.device` says.

    A run that fails gives the steps up to the failure. NotRunnable: there is no such block, or nothing to look into.
    CompileError: the source does not compile.
    """
    plan = plan_of(replace(choice, device="emulator"))
    launches = [step for step in plan.steps if isinstance(step, Launch)]
    if not launches or any(isinstance(step, HostRun) for step in plan.steps):
        raise NotRunnable(f"{choice.kernel} runs on one thread of the CPU: there is no block to look into.")
    if not 1 <= launch <= len(launches):
        raise NotRunnable(f"There is no launch {launch}: this choice makes {len(launches)}.")
    asked = launches[launch - 1]
    blocks = asked.grid[0] * asked.grid[1] * asked.grid[2]
    if not 0 <= block < blocks:
        raise NotRunnable(f"There is no block {block:,}: launch {launch} has blocks 0 to {blocks - 1:,}.")
    return _traced(plan, launches, launch, block, progress, schedule)


def _traced(
    plan: Plan, launches: list[Launch], number: int, block: int, progress: Progress | None, schedule: str | None
) -> Trace:
    import time

    from engine.ptx.launch import Device, launch
    from engine.ptx.machine import Options
    from engine.ptx.schedule import parse_schedule, schedule_line
    from engine.ptx.trace import Done, Trace, Tracer

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
    from engine import service
    from engine.catalogue import kernel_named
    from engine.jobs import Job

    settled = replace(choice, device="emulator")
    same = repr(("trace", kernel_named(choice.kernel).text, settled, block, launch, schedule))
    job = Job(
        "engine.inside:trace",
        (settled, block),
        deadline=TRACE_DEADLINE_S,
        key=hashlib.sha256(same.encode()).hexdigest(),
        keywords=(("launch", launch), ("schedule", schedule)),
        lane="emulator",
    )
    return service.connect().submit(job, session, fresh=fresh)


# ---- counters by line, and from rung to rung


def values_of(measurement: Measurement | None) -> dict[str, float | None]:
    """Every counter of TITLES over the whole run; None where it was not counted, as on the CPU."""
    from engine.tables import counter_values

    counters: Mapping[str, float] = (measurement.counters or {}) if measurement else {}
    if not counters or counters.get("warp_instructions") == 0:  # nothing was emulated: a rung of the CPU
        return dict.fromkeys(TITLES)
    assert measurement is not None
    found = {**counters, **counter_values(measurement), FINDINGS: len(measurement.findings)}
    return {name: found.get(name) for name in TITLES}


def heat(measurement: Measurement, counter: str) -> dict[int, float]:
    """The value of `counter` at each .cu line that was executed; lines where it was not counted are left out."""
    if counter == FINDINGS:
        lines = [line for f in measurement.findings for line in {f["line"], f["other_line"]} if line]
        return {line: float(lines.count(line)) for line in sorted(set(lines))}
    values = {
        int(line["line"]): values_of(replace(measurement, counters=line, findings=()))[counter]
        for line in measurement.lines
    }
    return {line: value for line, value in values.items() if value is not None}


def shares(values: Mapping[int, float], counter: str) -> dict[int, float]:
    """How hot each line is, 0 to 1: its part of the hottest line; of active lanes, how many of 32 are missing."""
    if counter == "active_lanes_per_instruction":
        return {line: 1 - value / 32 for line, value in values.items()}
    most = max(values.values(), default=0.0)
    return {line: value / most if most else 0.0 for line, value in values.items()}


def counter_text(counter: str, value: float | None) -> str:
    """A counter as a reader wants it: "92,925", "4.51"; "" where it was not counted."""
    from engine.tables import count_text, text_of

    if value is None:
        return ""
    return count_text(int(value)) if value == int(value) else text_of(counter, value)


@dataclass(frozen=True)
class Change:
    """One counter before and after a rung, and the sentence that says what became of it. None: not counted."""

    counter: str
    title: str
    before: float | None
    after: float | None
    sentence: str


def change(before: Measurement | None, after: Measurement | None, counter: str) -> Change:
    """What a rung did to `counter`, against the rung before."""
    old, new = values_of(before)[counter], values_of(after)[counter]
    title = TITLES[counter]
    words = title.removesuffix(" (PTX)")
    if old is None or new is None:
        sentence = f"{words} were not counted on both rungs, so there is nothing to compare."
    elif old == new:
        sentence = f"{words} stay at {counter_text(counter, new)}."
    else:
        verb = "fall" if new < old else "rise"
        ends = [counter_text(counter, value) if value else "none" for value in (old, new)]
        factor = f", a factor of {_factor(max(old, new) / min(old, new))}" if old and new else ""
        sentence = f"{words} {verb} from {ends[0]} to {ends[1]}{factor}."
    return Change(counter, title, old, new, sentence)


def _factor(ratio: float) -> str:
    return f"{ratio:.2f}" if ratio < 2 else f"{ratio:.1f}" if ratio < 100 else f"{ratio:,.0f}"


def shown_counter(ladder: Ladder, position: int) -> str:
    """The counter to look at on a rung: what it is meant to change; on the first rung, what the next one will."""
    from engine.catalogue import KERNELS

    rungs = ladder.rungs
    here = KERNELS[rungs[position].kernel].shows
    after = KERNELS[rungs[position + 1].kernel].shows if position + 1 < len(rungs) else ""
    return (here if position and here else "") or after or here or "warp_instructions"


# ---- what a GPU's profiler counted


@dataclass(frozen=True)
class Hardware:
    """Counters of one plan as a profiler read them on a GPU, `device`, on `date`."""

    device: str
    date: str
    n: int
    block_size: int
    counters: Mapping[str, float]


def recorded(choice: Choice) -> Hardware | None:
    """The hardware's own counters for exactly this choice; None where nobody recorded them."""
    same = [entry for entry in recorded_sizes(choice) if (entry.n, entry.block_size) == (choice.n, choice.block_size)]
    return same[0] if same else None


def recorded_sizes(choice: Choice) -> Sequence[Hardware]:
    """The hardware's counters for this kernel and type at every recorded size; none for a kernel run another way."""
    from engine.catalogue import KERNELS, spelled_out

    own = spelled_out(Choice(choice.kernel, choice.n, choice.block_size))
    named = spelled_out(choice)
    if choice.kernel not in KERNELS or (choice.grid_size, choice.source) != (None, None):
        return ()
    if (named.combine, named.parameter) != (own.combine, own.parameter):
        return ()
    return [entry for name, dtype, entry in _hardware() if (name, dtype) == (choice.kernel, choice.dtype)]


def recorded_files() -> tuple[Path, ...]:
    """The files that hold hardware counters; there may be none."""
    root = Path(__file__).parents[1]
    return tuple(sorted(path for pattern in _RECORDED for path in root.glob(pattern)))


@lru_cache(maxsize=1)
def _hardware() -> tuple[tuple[str, str, Hardware], ...]:
    """(kernel, dtype, counters) of every record: JSON objects {device, date, kernels: [{kernel, n, block_size, dtype,
    and the counters by their names}]}."""
    found = []
    for path in recorded_files():
        about: dict[str, Any] = json.loads(path.read_text(encoding="utf-8"))
        for row in about["kernels"]:
            counters = {name: value for name, value in row.items() if isinstance(value, int | float)}
            conflicts = [counters.get(f"shared_{kind}_conflicts") for kind in ("load", "store")]
            if None not in conflicts:
                counters["bank_conflicts"] = sum(value for value in conflicts if value is not None)
            entry = Hardware(about["device"], about["date"], row["n"], row["block_size"], counters)
            found.append((row["kernel"], row["dtype"], entry))
    return tuple(found)

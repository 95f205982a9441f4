"""The picture of one block: what the browser needs to draw and to play it.

picture(choice, block) -> Picture; packed(choice, block) -> Packed, the same as one text for a browser
"""

from __future__ import annotations

import hashlib
import json
from collections.abc import Sequence
from dataclasses import asdict, dataclass, replace
from itertools import zip_longest

from engine.backends.backend import backend_of
from engine.backends.emulator.backend import SECONDS
from engine.backends.emulator.launch import Device, launch
from engine.backends.emulator.state.machine import Options
from engine.backends.emulator.state.schedule import parse_schedule, schedule_line
from engine.backends.emulator.watching.one_block import TraceDone
from engine.backends.emulator.watching.trace import Trace, TracedArray, Tracer
from engine.backends.emulator.watching.traced_values import ValueTracer
from engine.catalogue import inputs_of, topic_of
from engine.picture.frames import Frame, StepGroup, count_values, frame_of, group_steps
from engine.plan import plan
from engine.records import Launch, NotRunnable, Plan, Progress, RunFailed, Settled, Zero
from engine.records.words import source_lines

MOST_FRAMES = 600
FEW_THREADS = 32  # of a block that shows the values of all frames
MOST_VALUES = 30_000  # over all frames, because every browser of a lecture loads them


@dataclass(frozen=True)
class DrawnArray:
    """An array that the block touches. `size`, `element`: bytes. `columns`: elements per row, if it is a matrix."""

    name: str
    space: str
    start: int
    size: int
    element: int
    columns: int | None


@dataclass(frozen=True)
class Picture:
    """One block, frame by frame. `lines`: the text of each .cu line that it executes.

    `shape`: threads of the block by x, y and z. `whole`: False if frames are left out at the end. `slots`: of all
    frames together. `ended`: why the run stopped before the block was done.
    """

    kernel: str
    block: int
    blocks: int
    launch: int
    launches: int
    threads: int
    shape: tuple[int, int, int]
    schedule: str
    lines: dict[int, str]
    arrays: tuple[DrawnArray, ...]
    frames: tuple[Frame, ...]
    slots: int
    whole: bool
    ended: str | None


@dataclass(frozen=True)
class Packed:
    """A picture for a browser: its JSON, its identity, its description for a screen reader, and its bank conflicts."""

    text: str
    digest: str
    words: str
    ended: str | None
    conflicts: int


def picture(choice: Settled, block: int = 0, progress: Progress | None = None, *, launch: int = 1) -> Picture:
    """Make the picture of block number `block` of launch number `launch` (from 1). Raises what `trace` raises."""
    square = topic_of(choice.kernel).square
    return picture_of(trace(choice, block, progress, launch=launch, values=True), choice.n if square else 0)


def packed(choice: Settled, block: int = 0, progress: Progress | None = None, *, launch: int = 1) -> Packed:
    """Make the picture in the browser's form. Raises what `trace` raises."""
    made = picture(choice, block, progress, launch=launch)
    text = json.dumps(asdict(made), separators=(",", ":"))
    return Packed(text, hashlib.sha256(text.encode()).hexdigest(), in_words(made), made.ended, conflicts_of(made))


def conflicts_of(picture: Picture) -> int:
    """Return the bank conflicts of all frames."""
    return sum(sum(touch.conflicts) for frame in picture.frames for touch in frame.touches)


def in_words(picture: Picture) -> str:
    """Describe the picture in a sentence."""
    kinds = [frame.kind for frame in picture.frames]
    splits = sum(frame.splits for frame in picture.frames)
    counts = [
        (kinds.count("sum"), "steps that combine values"),
        (kinds.count("barrier"), "barriers"),
        (splits, "branches that split a warp"),
        (conflicts_of(picture), "bank conflicts"),
    ]
    said = "".join(f", {count:,} {noun}" for count, noun in counts if count)
    return f"block {picture.block:,} of {picture.blocks:,}, {picture.threads:,} threads{said}."


def picture_of(trace: Trace, n: int) -> Picture:
    """Make the picture of a trace that kept its values. An array of n * n elements is a matrix of n columns.

    `n`: 0 if no array is a matrix.
    """
    met = {(step.space, step.array) for step in trace.steps if step.requests}
    arrays = [array for array in trace.arrays if (array.space, array.name) in met or _matrix(array, n)]
    beats = group_steps(trace.steps)
    frames = _frames(beats[:MOST_FRAMES], arrays, every=trace.threads <= FEW_THREADS)
    lines = source_lines(trace.source)
    told = sorted({step.line for step in trace.steps})
    return Picture(
        kernel=trace.kernel,
        block=trace.block,
        blocks=trace.blocks,
        launch=trace.launch,
        launches=trace.launches,
        threads=trace.threads,
        shape=trace.shape,
        schedule=trace.schedule,
        lines={line: lines[line - 1].strip() for line in told if 0 < line <= len(lines)},
        arrays=tuple(_drawn(array, n) for array in arrays),
        frames=frames,
        slots=sum(frame.slots for frame in frames),
        whole=trace.steps_in_all == len(trace.steps) and len(frames) == len(beats),
        ended=trace.ended,
    )


def _frames(beats: Sequence[StepGroup], arrays: Sequence[TracedArray], every: bool) -> tuple[Frame, ...]:
    """Make the frames. Unless `every` one shows its values, of consecutive multiply-adds only the last does."""
    made: list[Frame] = []
    values = 0
    for beat, after in zip_longest(beats, beats[1:]):
        inner = not every and after is not None and beat.multiplies and after.multiplies
        frame = frame_of(beat, arrays, valued=not inner and values <= MOST_VALUES)
        values += count_values(frame)
        made.append(frame)
    return tuple(made)


def _drawn(array: TracedArray, n: int) -> DrawnArray:
    columns = n if _matrix(array, n) else None
    return DrawnArray(array.name, array.space, array.start, array.size, array.element, columns)


def _matrix(array: TracedArray, n: int) -> bool:
    return array.space == "global" and n > 1 and array.size == n * n * array.element


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
    except TraceDone:
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

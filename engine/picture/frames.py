"""The frames of a picture: the JSON that a browser draws for each step.

A trace is cut into step groups, one movement of the picture each: lanes load values, combine them and store them.

A branch and a barrier are groups of their own. Any other group is at most one round by the same lanes: loads and
shuffles (one per array in global memory), then sums, then stores. Instructions that only compute belong to the group
around them.
"""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass, field

import numpy as np

from engine.backends.emulator.registers.masks import WARP
from engine.backends.emulator.watching.trace import TracedArray, TracedStep
from engine.backends.emulator.watching.traced_values import COMBINES, GLOBAL, KINDS, LANE, OWN
from engine.records import Array


def run_lengths(numbers: Sequence[int]) -> tuple[int, ...]:
    """Return runs of evenly spaced numbers, three entries each (count, first, distance): 4 6 8 1 -> 3 4 2, 1 1 0."""
    made: list[int] = []
    at = 0
    while at < len(numbers):
        first, end = numbers[at], at + 1
        step = numbers[end] - first if end < len(numbers) else 0
        while end < len(numbers) and numbers[end] - numbers[end - 1] == step:
            end += 1
        if (
            end - at == 2 and len(numbers) > end
        ):  # two numbers are always evenly spaced; the second may start the next run
            end, step = at + 1, 0
        made += (end - at, first, step)
        at = end
    return tuple(made)


SHOWN_DIGITS = 4
MOST_SUMS = 2  # sums of one step group that are drawn; the others are counted

Number = int | float
Values = tuple[Number | None, ...]  # None: a number that JSON cannot carry


@dataclass(frozen=True)
class Touch:
    """A memory instruction. `array`: its index in the picture's list, -1 for local memory and unnamed memory.

    `places`: byte offsets in the array, as runs. `served`: the wavefront (for global memory the sector) of each thread,
    as runs. `passes`, `conflicts`: one per warp, 0 for a warp that takes no part; an atomic has contention and no
    conflicts. `values`: what each thread loads or stores; `after`: what its word holds after an atomic.
    """

    kind: str
    array: int
    size: int
    places: tuple[int, ...]
    served: tuple[int, ...]
    passes: tuple[int, ...]
    conflicts: tuple[int, ...]
    values: Values = ()
    after: Values = ()


@dataclass(frozen=True)
class Operand:
    """One operand of a sum. `source`: an index in the list of arrays, "lane", or "own" for the thread's own value.

    `places`: byte offsets in the array, or threads, as runs; -1 if this lane's value was its own.
    """

    source: int | str
    places: tuple[int, ...]
    values: Values


@dataclass(frozen=True)
class Sum:
    """An instruction that combines values, one of which came from memory or from another lane."""

    symbol: str
    operands: tuple[Operand, ...]
    values: Values


@dataclass(frozen=True)
class Shuffle:
    """Lanes that read a register of another lane. `sources`: the thread that each reads, as runs."""

    sources: tuple[int, ...]
    values: Values


@dataclass(frozen=True)
class Frame:
    """One step group. `kind`: "sum", "load", "store", "copy", "atomic", "shuffle", "branch", "barrier", "meet",
    "compute".

    `lanes`: a 32-bit set of active lanes per warp. `taken`: the lanes that take the branch. `slots`: its share of the
    time. `combined`: how many combining instructions it holds.
    """

    line: int
    kind: str
    lanes: tuple[int, ...]
    slots: int
    taken: tuple[int, ...] = ()
    touches: tuple[Touch, ...] = ()
    sums: tuple[Sum, ...] = ()
    shuffles: tuple[Shuffle, ...] = ()
    combined: int = 0

    @property
    def splits(self) -> bool:
        """Return whether this branch diverges."""
        return any(0 < jump != lanes for jump, lanes in zip(self.taken, self.lanes, strict=False))


def frame_of(beat: StepGroup, arrays: Sequence[TracedArray], valued: bool = True) -> Frame:
    """Return the frame of a step group. `arrays`: those of the picture. `valued`: with its values."""
    active = active_threads(beat.lanes)
    combining = [step for step in beat.steps if step.kind == "compute" and step.carried is not None]
    shuffling = [step for step in beat.steps if step.carried is not None and step.carried.sources is not None]
    touching = [step for step in beat.steps if step.requests]
    line, kind = _telling(beat, combining, shuffling, touching)
    return Frame(
        line=line,
        kind=kind,
        lanes=beat.lanes,
        slots=beat.slots,
        taken=beat.steps[-1].taken,
        touches=tuple(
            _touch(step, active, arrays, valued and not (combining and step.kind == "load")) for step in touching
        ),
        sums=tuple(_sum(step, active, arrays, valued) for step in combining[-MOST_SUMS:]),
        shuffles=tuple(_shuffle(step, active, valued and not combining) for step in shuffling),
        combined=len(combining),
    )


def active_threads(lanes: Sequence[int]) -> list[int]:
    """Turn sets of lanes, one per warp, into thread numbers."""
    return [warp * WARP + lane for warp, bits in enumerate(lanes) for lane in range(WARP) if bits >> lane & 1]


def _telling(
    beat: StepGroup, combining: Sequence[TracedStep], shuffling: Sequence[TracedStep], touching: Sequence[TracedStep]
) -> tuple[int, str]:
    """Return (the line that says what happens, the kind of frame)."""
    last = beat.steps[-1]
    if last.kind in ("branch", "barrier"):
        return last.line, last.kind
    if combining:
        return combining[-1].line, "sum"
    if shuffling:
        return shuffling[-1].line, "shuffle"
    if touching:
        kinds = {step.kind for step in touching}
        kind = "atomic" if "atomic" in kinds else "copy" if len(kinds) > 1 else touching[-1].kind
        return touching[-1].line, kind
    met = next((step for step in beat.steps if step.kind == "sync"), None)
    return (met.line, "meet") if met else (last.line, "compute")


def _touch(step: TracedStep, active: Sequence[int], arrays: Sequence[TracedArray], valued: bool) -> Touch:
    by_warp = {request.warp: request for request in step.requests}
    lanes = [(by_warp[thread // WARP], thread % WARP) for thread in active]
    warps = range(len(step.lanes))
    carried = step.carried if valued else None
    return Touch(
        kind=step.kind,
        array=next((i for i, it in enumerate(arrays) if (it.space, it.name) == (step.space, step.array)), -1),
        size=step.size,
        places=run_lengths([request.places[lane] - step.start for request, lane in lanes]),
        served=run_lengths([request.served[lane] for request, lane in lanes]),
        passes=tuple(by_warp[warp].passes if warp in by_warp else 0 for warp in warps),
        conflicts=tuple(
            (by_warp[warp].conflicts or 0) if warp in by_warp and step.kind != "atomic" else 0 for warp in warps
        ),
        values=_numbers(carried.values, active) if carried else (),
        after=_numbers(carried.after, active) if carried and carried.after is not None else (),
    )


def _sum(step: TracedStep, active: Sequence[int], arrays: Sequence[TracedArray], valued: bool) -> Sum:
    carried = step.carried
    assert carried is not None
    operands = [
        _operand(origins[active].tolist(), _numbers(values, active) if valued else (), arrays)
        for values, origins in zip(carried.operands, carried.origins, strict=True)
    ]
    values = _numbers(carried.values, active) if valued else ()
    return Sum(COMBINES[step.opcode.partition(".")[0]], tuple(operands), values)


def _operand(origins: Sequence[int], values: Values, arrays: Sequence[TracedArray]) -> Operand:
    first = next((origin for origin in origins if origin != OWN), OWN)
    if first == OWN:
        return Operand("own", (), values)
    kind = first % KINDS
    if kind == LANE:
        return Operand(
            "lane", run_lengths([o // KINDS if o % KINDS == LANE and o != OWN else -1 for o in origins]), values
        )
    space, place = "global" if kind == GLOBAL else "shared", first // KINDS
    here = [(i, it) for i, it in enumerate(arrays) if it.space == space and it.start <= place < it.start + it.size]
    if not here:
        return Operand("own", (), values)
    number, array = here[0]
    places = [
        o // KINDS - array.start
        if o != OWN and o % KINDS == kind and array.start <= o // KINDS < array.start + array.size
        else -1
        for o in origins
    ]
    return Operand(number, run_lengths(places), values)


def _shuffle(step: TracedStep, active: Sequence[int], valued: bool) -> Shuffle:
    carried = step.carried
    assert carried is not None and carried.sources is not None
    values = _numbers(carried.values, active) if valued and carried.values.size else ()
    return Shuffle(run_lengths(carried.sources[active].tolist()), values)


def _numbers(values: Array, active: Sequence[int]) -> Values:
    return tuple(rounded(value) for value in values[active].tolist())


def rounded(value: Number) -> Number | None:
    """Round a number for the picture: floats to SHOWN_DIGITS digits."""
    if isinstance(value, int):
        return int(value)  # JSON has no number for True
    return float(f"{value:.{SHOWN_DIGITS}g}") if np.isfinite(value) else None


def count_values(frame: Frame) -> int:
    """Count the values in a frame."""
    return (
        sum(len(touch.values) + len(touch.after) for touch in frame.touches)
        + sum(len(it.values) + sum(len(operand.values) for operand in it.operands) for it in frame.sums)
        + sum(len(shuffle.values) for shuffle in frame.shuffles)
    )


_LINE = 4  # sectors: global memory delivers 128 bytes at once


@dataclass
class StepGroup:
    """Steps that are shown together, all of the same lanes."""

    steps: list[TracedStep] = field(default_factory=list)
    order: int = 0  # the phase of its round: 0 loads, 1 sums, 2 stores
    closed: bool = False

    @property
    def lanes(self) -> tuple[int, ...]:
        """One 32-bit set of active lanes per warp."""
        return self.steps[0].lanes

    @property
    def slots(self) -> int:
        """Its share of the time: one slot per issued instruction of a warp, and one per further wavefront of shared
        memory or per further 128 bytes of global memory."""
        return sum(map(slots_of, self.steps))

    @property
    def multiplies(self) -> bool:
        """Return whether it contains a multiply-add."""
        return any(step.carried is not None and step.opcode.startswith(("fma", "mad")) for step in self.steps)


def slots_of(step: TracedStep) -> int:
    """Return the issue slots of one step."""
    issued = step.instructions * sum(1 for lanes in step.lanes if lanes)
    whole = 1 if step.space == "shared" else _LINE
    return issued + sum(-(-request.passes // whole) - 1 for request in step.requests)


def group_steps(steps: Sequence[TracedStep]) -> list[StepGroup]:
    """Cut a trace into step groups, in order."""
    beats: list[StepGroup] = []
    for step in steps:
        now = beats[-1] if beats else None
        if now is None or now.closed or step.lanes != now.lanes or _begins(step, now):
            now = StepGroup()
            beats.append(now)
        now.steps.append(step)
        now.order = max(now.order, _order(step))
        now.closed = step.kind in ("branch", "barrier")
    return beats


def _order(step: TracedStep) -> int:
    if step.kind in ("store", "atomic"):
        return 2
    return 1 if step.kind == "compute" and step.carried is not None else 0


def _begins(step: TracedStep, now: StepGroup) -> bool:
    """Return whether a step begins a new round."""
    if step.kind in ("branch", "barrier"):
        return True
    if step.kind == "compute" and step.carried is None:
        return False
    if step.kind == "sync" and step.carried is None:  # the warp converges: nothing moves
        return False
    if step.kind == "sync":  # a shuffle comes last
        return any(each.requests or each.carried is not None for each in now.steps)
    if step.kind == "load" and step.space == "global":
        return now.order > 0 or any((it.kind, it.space, it.array) == ("load", "global", step.array) for it in now.steps)
    return _order(step) < now.order or _order(step) == now.order == 2

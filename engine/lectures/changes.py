"""What a rung changed: a counter by source line, and its values before and after.

line_values(measurement, counter) -> {line: value}    change(before, after, counter) -> Change
headline(counter, before, after, step, held) -> str
"""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass

from engine.catalogue import Ladder
from engine.plan import plan
from engine.records import Launch, Measurement, NotRunnable, Settled
from engine.records.counters import COUNTERS, FINDINGS, LAUNCHES, ON_LINES, with_derived
from engine.records.words import text_of

QUICKER = 1.2  # a smaller speedup is not what a better counter promises
_LITTLE = 1.05  # below this factor the difference says more


def values_of(measurement: Measurement | None) -> dict[str, float | None]:
    """Return every counter of ON_LINES over the whole run; None if it was not counted, as on the CPU."""
    if measurement is None or not measurement.counters:
        return dict.fromkeys(ON_LINES)
    found = {**with_derived(measurement.counters), FINDINGS: len(measurement.findings),
             LAUNCHES: _launches(measurement)}  # fmt: skip
    return {name: found.get(name) for name in ON_LINES}


def _launches(m: Measurement) -> int | None:
    """Return how many kernel launches gave the answer; None if the run can no longer be planned."""
    if not isinstance(m.choice, Settled):
        return None
    try:
        made = plan(m.choice)
    except NotRunnable:
        return None
    return sum(isinstance(step, Launch) for step in made.steps)


def line_values(measurement: Measurement, counter: str) -> dict[int, float]:
    """Return the value of `counter` at each executed .cu line; lines without a count are left out."""
    if counter == FINDINGS:
        at = [line for found in measurement.findings for line in {found.line, found.other_line} if line]
        return {line: float(at.count(line)) for line in sorted(set(at))}
    lines = () if COUNTERS[counter].whole_run or measurement.counts is None else measurement.counts.lines
    values = {line.line: with_derived(line.counters).get(counter) for line in lines}
    return {line: value for line, value in values.items() if value is not None}


def shares(values: Mapping[int, float], counter: str) -> dict[int, float]:
    """Return the heat of each line, 0 to 1: its part of the hottest line's value; for active lanes, the part of 32 that
    is missing."""
    full = COUNTERS[counter].full
    if full is not None:
        return {line: 1 - value / full for line, value in values.items()}
    most = max(values.values(), default=0.0)
    return {line: value / most if most else 0.0 for line, value in values.items()}


@dataclass(frozen=True)
class Change:
    """One counter before and after a rung, and a sentence about the change. None: not counted.

    `direction`: "fall", "rise" or "stay"; empty if it was not counted.
    """

    counter: str
    title: str
    before: float | None
    after: float | None
    sentence: str
    direction: str = ""


def change(before: Measurement | None, after: Measurement | None, counter: str) -> Change:
    """Return the change of `counter` from the rung before."""
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


def headline(counter: str, before: float | None, after: float | None, step: float | None, held: bool) -> str:
    """Return a change and the speedup that came with it, in one line: "1.49 M → 0, and yet 1.09×".

    `held`: the new numbers are held back. The line says "and yet" if the time does not follow the counter.
    """
    old, new = text_of(counter, before), "?" if held else text_of(counter, after)
    counted = " → ".join(filter(None, (old, new))) if old or (new and not held) else ""
    if held:
        return counted or "?"
    if step is None:
        return counted
    faster = text_of("step", step)
    if before is None or after is None:
        return f"{counted}: {faster}" if counted else f"{faster} as fast"
    better = after > before if COUNTERS[counter].full is not None else after < before
    surprising = before != after and better != (step > QUICKER)
    return f"{counted}, {'and yet' if surprising else 'and'} {faster}"


def _or_none(counter: str, value: float) -> str:
    return text_of(counter, value) if value else "none"


def _uncounted(run: Measurement | None, words: str) -> str:
    """Return why a counter of `run` cannot be compared."""
    why = f"{words} were not counted on both rungs"
    if run is not None and run.cpu:
        why = f"{run.kernel} runs on the CPU, where nothing is counted"
    elif run is not None and run.status == "deadlock":
        why = f"{run.kernel} never ends in this order of execution"
    return f"{why}, so there is nothing to compare."


def _factor(ratio: float) -> str:
    return f"{ratio:.2f}" if ratio < 2 else f"{ratio:.1f}" if ratio < 100 else f"{ratio:,.0f}"


def shown_counter(ladder: Ladder, position: int) -> str:
    """Return the counter to look at on a rung: the one that it is meant to change.

    On the first rung: the one that the next rung lowers, else the one that its kernel is about.
    """
    here = ladder.meant(position)
    if here:
        return here[0]
    after = ladder.meant(position + 1) if position + 1 < len(ladder.rungs) else None
    own = ladder.rungs[position].shows.lstrip("+=") if not position else ""
    if own and after and after[1] != "fall":
        return own
    return after[0] if after else own or "warp_instructions"

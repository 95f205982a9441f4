"""Before a lecture: what Run will run on every rung of a ladder, and what is ready to be shown."""

from __future__ import annotations

from dataclasses import dataclass
from typing import Literal

from engine.catalogue import KERNELS, Ladder, Rung, emulated_n
from engine.history.history import device_line, latest, recorded_for
from engine.plan import own_device, settle
from engine.records import Choice, Measurement, Settled
from engine.records.words import STATUS_WORDS, size_text, time_text

State = Literal["ready", "recorded", "failed", "waiting"]


@dataclass(frozen=True)
class RungReadiness:
    """What a lecturer will have of one rung.

    `state`: "ready", it ran as it should; "recorded", only a record can be shown; "failed", nothing can; "waiting", it
    has not been run. `sentence`: what there is, or why there is no more.
    """

    rung: str
    kernel: str
    state: State
    sentence: str


def timed_of(ladder: Ladder, rung: Rung) -> Settled:
    """What the times of a rung are of when its ladder opens: the lecture's own N, block size and type."""
    return _at(ladder.n, ladder, rung)


def run_of(ladder: Ladder, rung: Rung) -> Settled:
    """What Run runs there: on the emulator, at an N that it counts in a lecture's patience."""
    n = ladder.n if own_device() == "gpu" else emulated_n(ladder, ladder.n)
    return _at(n, ladder, rung)


def _at(n: int, ladder: Ladder, rung: Rung) -> Settled:
    return settle(Choice(rung.kernel, n, ladder.block_size, dtype=ladder.dtype, combine=rung.combine))


def readiness(ladder: Ladder) -> tuple[RungReadiness, ...]:
    """What is ready by now, rung by rung: by the last live runs of this process or of this user, and the records."""
    return tuple(_readiness(ladder, rung, latest(run_of(ladder, rung))) for rung in ladder.rungs)


def _readiness(ladder: Ladder, rung: Rung, live: Measurement | None) -> RungReadiness:
    recorded = recorded_for(timed_of(ladder, rung))
    shown = f"The time is shown as it was recorded: {device_line(recorded)}." if recorded else "No time is recorded."
    state: State
    if live is None:
        state, sentence = "waiting", f"Not run yet. {shown}"
    elif live.status not in ("ok", KERNELS[rung.kernel].expect):
        why = (live.reason or STATUS_WORDS[live.status]).rstrip(".")
        state, sentence = ("recorded" if recorded else "failed"), f"{why}. {shown}"
    elif live.time_us is not None:
        state, sentence = "ready", f"{time_text(live.time_us)}, {device_line(live)}."
    else:
        lesson = "" if live.status == "ok" else ", as it should be"
        counted = "counted on the emulator" if live.counters is not None else device_line(live)
        words = f"{STATUS_WORDS[live.status]}{lesson}, {counted} at N = {size_text(live.choice.n)}."
        state, sentence = "ready", f"{words[:1].upper()}{words[1:]} {shown}"
    return RungReadiness(rung.label, rung.kernel, state, sentence)

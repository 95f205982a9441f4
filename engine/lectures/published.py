"""Every figure that a ladder's lecture prints, beside the known runs under the same conditions."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import dataclass, replace

from engine.catalogue import LADDERS, Ladder, Published, Rung
from engine.history.history import latest, recorded_for
from engine.plan import settle
from engine.records import Choice, Measurement, Settled


def has_figures(ladder: Ladder) -> bool:
    """Return whether the ladder's lecture prints figures."""
    return any(rung.published for rung in ladder.rungs)


def choices(ladder: Ladder, device: str, record: str | None = None) -> tuple[tuple[Settled, str], ...]:
    """Return the runs at the published conditions on a GPU or the emulator, each once, with their names. `record`: of
    their recorded runs, None for the first one."""
    found = {
        choice_of(ladder, rung, figure, device, record): f"{label(ladder, rung)}, {figure.lecture}'s conditions"
        for rung in ladder.rungs
        for figure in rung.published
    }
    return tuple(found.items())


def choice_of(ladder: Ladder, rung: Rung, figure: Published, device: str, record: str | None = None) -> Settled:
    """Return the choice of the rung, or of its stand-in, under the conditions of a figure; conditions that the lecture
    leaves open are the ladder's own. `record`: of its recorded run, None for the first one."""
    asked = Choice(
        kernel=rung.timed,
        n=figure.n,
        block_size=figure.block_size or ladder.block_size,
        grid_size=figure.grid_size,
        dtype=figure.dtype,
        device=device,
        combine=rung.combine,
        record=record,
    )
    return settle(asked)


def label(ladder: Ladder, rung: Rung) -> str:
    """Return the rung's label, with the name of a stand-in: "#5, here volatile"."""
    other = next((one.label for one in ladder.rungs if one.kernel == rung.stand_in), "")
    return f"{rung.label}, here {other.removeprefix(rung.label).strip()}" if other else rung.label


def published_ladders() -> tuple[str, ...]:
    """Return the names of the ladders whose lectures print figures."""
    return tuple(name for name, ladder in LADDERS.items() if has_figures(ladder))


@dataclass(frozen=True)
class Numbers:
    """The numbers of one source in a line. Times in us, bandwidth in GB/s; None: not published, or not measured.

    `step`, `cumulative`: speedup against the line before, and against the first line, of the same conditions.
    """

    time_us: float | None = None
    bandwidth_gb_s: float | None = None
    step: float | None = None
    cumulative: float | None = None


@dataclass(frozen=True)
class Line:
    """One published figure. `label`: its rung, and the stand-in if there is one. `choice`: the run at its conditions.
    `computed`: names of Numbers that the lecture does not print, but that follow from its figures.

    `recorded`: the recorded run, `live`: the last one here; `note`: how the recorded run differs, if it does.
    """

    rung: Rung
    label: str
    figure: Published
    choice: Settled
    published: Numbers
    computed: frozenset[str]
    recorded: Measurement | None
    live: Measurement | None
    recorded_numbers: Numbers
    live_numbers: Numbers
    note: str = ""

    @property
    def here(self) -> Measurement | None:
        """The source of the times here: the live run if it was timed, else the recorded one."""
        return next((found for found in (self.live, self.recorded) if _time(found) is not None), None)

    @property
    def here_numbers(self) -> Numbers:
        """Return the numbers of `here`."""
        return self.live_numbers if _time(self.live) is not None else self.recorded_numbers

    @property
    def faster(self) -> float | None:
        """Return how many times as fast it is here as in the lecture."""
        ours, theirs = self.here_numbers, self.published
        if ours.time_us is not None and theirs.time_us is not None:
            return theirs.time_us / ours.time_us
        if ours.bandwidth_gb_s is not None and theirs.bandwidth_gb_s is not None:
            return ours.bandwidth_gb_s / theirs.bandwidth_gb_s
        return None


def lines(ladder: Ladder, device: str, record: str | None = None) -> tuple[Line, ...]:
    """Return every published figure of the ladder, in order. `device`: "gpu" or "emulator", whose last runs are `live`;
    `record`: the record of the recorded runs, None for the first one.

    Speedups are between figures of the same N, type and block size only; see Numbers.
    """
    found: list[Line] = []
    for rung in ladder.rungs:
        for figure in rung.published:
            same = [line for line in found if _conditions(line.choice) == _conditions_of(ladder, figure)]
            found.append(_line(ladder, rung, figure, choice_of(ladder, rung, figure, device, record), same))
    return tuple(found)


def _conditions(choice: Settled) -> tuple[int, str, int]:
    return (choice.n, choice.dtype, choice.block_size)


def _conditions_of(ladder: Ladder, figure: Published) -> tuple[int, str, int]:
    return (figure.n, figure.dtype, figure.block_size or ladder.block_size)


def _line(ladder: Ladder, rung: Rung, figure: Published, choice: Settled, same: Sequence[Line]) -> Line:
    recorded, note = _recorded(choice)
    live = latest(choice)
    before, first = (same[-1], same[0]) if same else (None, None)
    printed = Numbers(
        None if figure.time_ms is None else figure.time_ms * 1e3,
        figure.bandwidth_gb_s,
        figure.step_speedup,
        figure.cumulative_speedup,
    )
    step = printed.step or _speedup(before.published if before else None, printed)
    cumulative = printed.cumulative or _speedup(first.published if first else None, printed)
    computed = {
        name
        for name, was, now in (("step", printed.step, step), ("cumulative", printed.cumulative, cumulative))
        if was is None and now is not None
    }
    return Line(
        rung=rung,
        label=label(ladder, rung),
        figure=figure,
        choice=choice,
        published=replace(printed, step=step, cumulative=cumulative),
        computed=frozenset(computed),
        recorded=recorded,
        live=live,
        recorded_numbers=_numbers(recorded, before.recorded if before else None, first.recorded if first else None),
        live_numbers=_numbers(live, before.live if before else None, first.live if first else None),
        note=note,
    )


def _recorded(choice: Settled) -> tuple[Measurement | None, str]:
    """Return the recorded run; if only another number of blocks was recorded, that run and a note."""
    found = recorded_for(choice)
    if found is not None or choice.grid_size is None:
        return found, ""
    found = recorded_for(replace(choice, grid_size=None))
    blocks = f"{found.grid_size:,} blocks" if found is not None and found.grid_size else ""
    return found, f"recorded with {blocks} instead of {choice.grid_size}" if blocks else ""


def _time(measurement: Measurement | None) -> float | None:
    """Return the time of a right answer; the time of a wrong one says nothing."""
    return measurement.time_us if measurement is not None and measurement.status in ("ok", "hazard") else None


def _numbers(now: Measurement | None, before: Measurement | None, first: Measurement | None) -> Numbers:
    time_us = _time(now)
    if now is None or time_us is None:
        return Numbers()
    return Numbers(time_us, now.rates.bandwidth_gb_s, _ratio(before, now), _ratio(first, now))


def _ratio(old: Measurement | None, new: Measurement) -> float | None:
    was, now = _time(old), _time(new)
    if old is None or was is None or now is None or old.device.get("name") != new.device.get("name"):
        return None
    return was / now


def _speedup(old: Numbers | None, new: Numbers) -> float | None:
    if old is None:
        return None
    if old.time_us is not None and new.time_us is not None:
        return old.time_us / new.time_us
    if old.bandwidth_gb_s is not None and new.bandwidth_gb_s is not None:
        return new.bandwidth_gb_s / old.bandwidth_gb_s
    return None


def varies_block(ladder: Ladder) -> bool:
    """Return whether the lecture prints each rung at several block sizes."""
    return any(len({figure.block_size for figure in rung.published}) > 2 for rung in ladder.rungs)


def by_block(found: Sequence[Line]) -> Mapping[str, Mapping[int, Line]]:
    """Return {label of a rung: {block size: its line}}, in the order of the ladder."""
    table: dict[str, dict[int, Line]] = {}
    for line in found:
        table.setdefault(line.label, {})[line.choice.block_size] = line
    return table

"""A whole ladder as a table for a notebook: recorded times at first, and runs of this computer after `run`.

ladder = engine.ladder("harris")          # the recorded times beside the lecture's figures
ladder.run()                              # every rung here: checked, and timed on a GPU or counted on the emulator
ladder.run().table                        # the same as a pandas DataFrame
"""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass
from html import escape
from typing import Any

import pandas as pd

from engine.catalogue import LADDERS, TOPICS, Ladder
from engine.history import history
from engine.history.history import Known, device_line
from engine.history.tables import COLUMNS, ladder_table, tile_text, tile_title
from engine.records import Measurement, NotRunnable, Settled
from engine.records.counters import IN_TILES
from engine.records.words import size_text, text_of
from engine.service import service
from engine.service.warm_up import run_of, timed_of

BAR = "rgba(47,127,209,0.25)"
_LECTURE = ("lecture_time_us", "lecture_bandwidth_gb_s", "lecture_step", "lecture_cumulative")


@dataclass(frozen=True)
class LadderRuns:
    """The rungs of a ladder, with what is known of each: `choices` and `known` are in the order of the rungs."""

    ladder: Ladder
    choices: tuple[Settled, ...]
    known: tuple[Known, ...]

    @property
    def table(self) -> pd.DataFrame:
        """Return one row for each rung; `engine.history.tables` explains the columns."""
        return ladder_table(self.ladder, self.choices, self.known)

    def run(self) -> LadderRuns:
        """Run every rung on this computer, each in a worker process; a rung that fails has its reason in the table.

        On a GPU the rungs run at the lecture's N and are timed. On the emulator they run at a smaller one and are
        counted; times stay those of the record.
        """
        live = service.measured([run_of(self.ladder, rung) for rung in self.ladder.rungs], f"ladder {self.ladder.name}")
        known = tuple(Known(made, one.recorded) for made, one in zip(live, self.known, strict=True))
        return LadderRuns(self.ladder, self.choices, known)

    def __str__(self) -> str:
        return f"{self.ladder.title}: {len(self.ladder.rungs)} rungs. {' '.join(self._origins())}"

    def _repr_html_(self) -> str:
        rows = [{str(name): value for name, value in row.items()} for row in self.table.to_dict("records")]
        rate = TOPICS[self.ladder.topic].metric
        shown = ["time_us", rate, "step", "cumulative", *(
            key for key in _LECTURE if any(row[key] is not None for row in rows)
        )]  # fmt: skip
        counted = IN_TILES if any(one.counted for one in self.known) else ()
        heads = ["Rung", "What it does", "Correct?", *map(_heading, shown), *map(tile_title, counted)]
        most = max((row[rate] for row in rows if row[rate] is not None), default=0.0)
        body = "".join(f"<tr>{''.join(_cells(row, shown, counted, rate, most))}</tr>" for row in rows)
        head = "".join(f"<th>{escape(each)}</th>" for each in heads)
        failed = "".join(
            f"<li><b>{escape(row['rung'])}</b>: {escape(row['reason'])}</li>" for row in rows if row["reason"]
        )
        origins = "<br>".join(map(escape, self._origins()))
        below = f"<ul>{failed}</ul><small>{origins}</small>"
        return f"<b>{escape(self.ladder.title)}</b><table><tr>{head}</tr>{body}</table>{below}"

    def _origins(self) -> list[str]:
        """Return the sources of the times and of the counts."""
        timed = dict.fromkeys(device_line(one.timed) for one in self.known if one.timed)
        counted = dict.fromkeys(size_text(made.choice.n) for made in map(_counted_run, self.known) if made)
        sizes = f"N = {size_text(self.ladder.n)}"
        return [
            *([f"Times: {', '.join(timed)}; {sizes}."] if timed else [f"No times at {sizes}."]),
            *([f"Counted by the emulator at N = {', '.join(counted)}."] if counted else []),
        ]


def runs_of(name: str) -> LadderRuns:
    """Return the ladder of that name with its recorded times. NotRunnable: there is none."""
    if name not in LADDERS:
        raise NotRunnable(f"There is no ladder {name!r}: choose one of {', '.join(LADDERS)}.")
    ladder = LADDERS[name]
    choices = tuple(timed_of(ladder, rung) for rung in ladder.rungs)
    return LadderRuns(ladder, choices, tuple(Known(None, history.recorded_for(choice)) for choice in choices))


def _counted_run(known: Known) -> Measurement | None:
    return known.live if known.live is not None and known.live.counters is not None else None


def _heading(key: str) -> str:
    column = COLUMNS[key]
    unit = f" ({column.unit})" if column.unit and not key.endswith("time_us") else ""
    return f"{'Lecture: ' if key in _LECTURE else ''}{column.title}{unit}"


def _cells(
    row: Mapping[str, Any], shown: list[str], counted: tuple[tuple[str, ...], ...], rate: str, most: float
) -> list[str]:
    """Return a rung's cells; the rate has a bar as long as its part of the ladder's highest."""
    outcome = text_of("status", row["status"]) if row["status"] else "–"
    cells = [
        f"<td><b>{escape(row['rung'])}</b></td><td style='text-align:left'>{escape(row['title'])}</td>",
        f"<td style='text-align:left'>{escape(outcome)}</td>",
    ]
    for key in shown:
        part = 100 * row[key] / most if key == rate and row[key] is not None and most else 0
        bar = f";background:linear-gradient(90deg,{BAR} {part:.0f}%,transparent {part:.0f}%)" if part else ""
        cells.append(f"<td style='white-space:nowrap{bar}'>{escape(text_of(key, row[key]))}</td>")
    return [*cells, *(f"<td>{escape(tile_text(row, names))}</td>" for names in counted)]

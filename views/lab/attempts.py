"""The last attempts of a draft, as a small ladder. The browser stores them, so records that come back are checked."""

from __future__ import annotations

from collections.abc import Iterable, Mapping
from dataclasses import asdict, dataclass
from typing import Any

from engine.records import Measurement
from engine.records.counters import COUNTERS, IN_TABLE, with_derived
from engine.records.words import STATUS_WORDS
from engine.store.database import now

KEPT = 10


@dataclass(frozen=True)
class Attempt:
    """One check or run. `utc`: ISO 8601; `said`: its outcome in a sentence; `checked`: whether its answer was compared
    with a reference; `time_us`: on the GPU named in `device`; None without a time."""

    number: int
    utc: str
    text: str
    status: str
    said: str
    checked: bool
    n: int
    counters: Mapping[str, float]
    time_us: float | None = None
    device: str | None = None

    @property
    def label(self) -> str:
        """Return its label in the table and on the slide."""
        return f"#{self.number}"

    @property
    def verdict(self) -> str:
        """Return the outcome in a word; an answer without a reference is not called correct."""
        return "ran" if self.status == "ok" and not self.checked else STATUS_WORDS[self.status]

    @property
    def record(self) -> dict[str, Any]:
        """Return the record for the browser, which has the text."""
        return {name: value for name, value in asdict(self).items() if name != "text"}


def attempt_of(number: int, text: str, run: Measurement, counters: Mapping[str, float] | None, said: str) -> Attempt:
    """Return an attempt of this moment, from a run and from the emulator's counted run, which may be earlier."""
    counted = with_derived(counters) if counters else {}
    return Attempt(
        number,
        now(),
        text,
        run.status,
        said,
        run.check is not None,
        run.choice.n,
        {name: counted[name] for name in IN_TABLE if name in counted},
        run.time_us,
        str(run.device.get("name") or "") or None if run.time_us is not None else None,
    )


def added(attempts: Iterable[Attempt], new: Attempt) -> tuple[Attempt, ...]:
    """Return the attempts with one more; the oldest are dropped."""
    return (*attempts, new)[-KEPT:]


def attempts_of(records: object) -> tuple[Attempt, ...]:
    """Return the attempts from a browser's records, without records in another form."""
    return tuple(filter(None, map(_attempt_of, records if isinstance(records, list) else [])))[-KEPT:]


def _attempt_of(record: object) -> Attempt | None:
    try:
        given = dict(record)
        counters = {name: float(value) for name, value in dict(given["counters"]).items() if name in COUNTERS}
        if given["status"] not in STATUS_WORDS:
            return None
        time = given.get("time_us")
        return Attempt(
            int(given["number"]), str(given["utc"]), str(given["text"]), str(given["status"]), str(given["said"]),
            bool(given["checked"]), int(given["n"]), counters, None if time is None else float(time),
            str(given.get("device") or "") or None,
        )  # fmt: skip
    except (KeyError, TypeError, ValueError):
        return None

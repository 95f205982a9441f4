"""The last tries of a draft: a small ladder of one's own. The browser keeps them, so what comes back is not trusted."""

from __future__ import annotations

from collections.abc import Iterable, Mapping
from dataclasses import asdict, dataclass
from typing import Any

from engine.records import Measurement
from engine.records.counters import COUNTERS, IN_TABLE, with_derived
from engine.records.words import STATUS_WORDS

KEPT = 10


@dataclass(frozen=True)
class Try:
    """One check or run. `utc`: ISO 8601; `said`: its outcome in a sentence; `checked`: whether its answer was compared
    with a right one; `time_us`: of a GPU, named in `device`; None where nothing was timed."""

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
        """What the table and the slide call it."""
        return f"#{self.number}"

    @property
    def verdict(self) -> str:
        """In a word: an answer that nobody checked is not called correct."""
        return "ran" if self.status == "ok" and not self.checked else STATUS_WORDS[self.status]

    @property
    def record(self) -> dict[str, Any]:
        """For the browser, which has the text."""
        return {name: value for name, value in asdict(self).items() if name != "text"}


def try_of(number: int, text: str, run: Measurement, counters: Mapping[str, float] | None, said: str) -> Try:
    """What is kept of a run, and of what was counted, which a GPU does not."""
    counted = with_derived(counters) if counters else {}
    return Try(
        number,
        str(run.environment.get("utc") or ""),
        text,
        run.status,
        said,
        run.check is not None,
        run.choice.n,
        {name: counted[name] for name in IN_TABLE if name in counted},
        run.time_us,
        str(run.device.get("name") or "") or None if run.time_us is not None else None,
    )


def added(tries: Iterable[Try], new: Try) -> tuple[Try, ...]:
    """The tries with one more; the oldest go."""
    return (*tries, new)[-KEPT:]


def tries_of(records: object) -> tuple[Try, ...]:
    """Those that a browser kept; what is none of ours is left out."""
    return tuple(filter(None, map(_try_of, records if isinstance(records, list) else [])))[-KEPT:]


def _try_of(record: object) -> Try | None:
    try:
        given = dict(record)
        counters = {name: float(value) for name, value in dict(given["counters"]).items() if name in COUNTERS}
        if given["status"] not in STATUS_WORDS:
            return None
        time = given.get("time_us")
        return Try(
            int(given["number"]), str(given["utc"]), str(given["text"]), str(given["status"]), str(given["said"]),
            bool(given["checked"]), int(given["n"]), counters, None if time is None else float(time),
            str(given.get("device") or "") or None,
        )  # fmt: skip
    except (KeyError, TypeError, ValueError):
        return None

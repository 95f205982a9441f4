"""The question that a lecture asks before a rung's numbers: the lecturer's own, or the one that the rung itself gives.

A lecturer's questions are data, one file a ladder: `questions/<ladder>.toml`; docs/room.md has an example. For every
other rung the question is made from its row in the ladder's table: its answers are bands of the ladder's range. If the
rung is about a count and not about time, its answers are four counts, one of which falls.
"""

from __future__ import annotations

import tomllib
from collections.abc import Callable, Mapping, Sequence
from dataclasses import dataclass
from functools import lru_cache
from itertools import pairwise
from math import exp, log
from pathlib import Path
from typing import Any

from engine.catalogue import KERNELS, Ladder
from engine.records.counters import COUNTERS, ON_LINES
from engine.records.shipped import shipped
from engine.records.words import reason_text, text_of, time_text

FOLDER = shipped("questions")
MOST_CHOICES, LONGEST = 6, 300  # of one question; characters of its text
BANDS = 4
NEAR, SPREAD = 0.04, 2.0  # parts; no edge is nearer to the right value, and the bands cover at least this factor
# Edges of bands: numbers that a hall can estimate.
_EDGES = [number * 10.0**power for power in range(-4, 8) for number in (1, 1.1, 1.2, 1.3, 1.5, 1.7, 2, 2.5, 3, 4, 5, 7)]
Counts = Mapping[str, float | None]  # by the names of engine.records.counters.COUNTERS
_NAMES = "abcdef"


@dataclass(frozen=True)
class Question:
    """A question with its answers; `right`: the position of the right one; `because`: why, told with the numbers;
    `edges`: between its bands, if its answers are bands."""

    text: str
    choices: tuple[str, ...]
    right: int
    because: str = ""
    edges: tuple[float, ...] = ()


class BadQuestions(ValueError):
    """A file of questions is wrong; `str(error)` says where, in one sentence."""


def question_of(
    ladder: Ladder,
    position: int,
    rows: Sequence[Mapping[str, Any]],
    counts: tuple[Counts, Counts] = ({}, {}),
    edges: Sequence[float] = (),
    folder: Path = FOLDER,
) -> Question:
    """Return the question to ask before the numbers of a rung. `rows`: the complete rows of the ladder's table;
    `counts`: of the rung before and of this one; `edges`: of the bands, if the question has been asked before.

    BadQuestions: the ladder's file is wrong. LookupError: nothing is known of this rung that could be asked for.
    """
    rung, row = ladder.rungs[position], rows[position]
    own = questions_in(folder / f"{ladder.name}.toml", tuple(rung.kernel for rung in ladder.rungs)).get(rung.kernel)
    if own is not None:
        return own
    gpu = next((str(each["gpu"]) for each in rows if each["gpu"]), "GPU")
    expect, status = KERNELS[rung.kernel].expect, row["status"]
    if expect == "deadlock" and status in ("ok", "deadlock"):
        return Question(f"Does this kernel end on the {gpu}?", ("Yes", "No: its threads wait for ever"),
                        0 if status == "ok" else 1, str(row["reason"] or _ended(row)))  # fmt: skip
    if status == "wrong" or expect == "wrong" or (expect == "hazard" and not row["step"]):
        right, luck = 2 if status == "wrong" else 1, "It is right this time; another order of the threads may not be."
        return Question(f"Is the answer right on the {gpu}?", ("Yes, always", "Yes, by luck", "No"), right,
                        str(row["reason"] or luck))  # fmt: skip
    falls = _of_counts(ladder, position, *counts)
    if falls is not None and (not row["step"] or ladder.rungs[position].promise in ("", "same")):
        return falls
    if row["step"]:
        before = ladder.rungs[position - 1].label
        time, earlier = text_of("time_us", row["time_us"]), text_of("time_us", rows[position - 1]["time_us"])
        because = f"{text_of('step', row['step'])}: {earlier} became {time}."
        return _of_bands(f"How much faster than {before} is {rung.label}?", "step", row, rows, because, _times, edges)
    if row["percent_of_peak"] and row["percent_of_peak"] >= 1:
        because = f"It reaches {text_of('percent_of_peak', row['percent_of_peak'])}."
        text = f"How much of the {gpu}'s peak does it reach?"
        return _of_bands(text, "percent_of_peak", row, rows, because, _percent, edges)
    if row["time_us"]:
        because = f"It takes {text_of('time_us', row['time_us'])}."
        return _of_bands(f"How long does it take on the {gpu}?", "time_us", row, rows, because, time_text, edges)
    raise LookupError("This rung has no measured number that could be estimated.")


def _of_counts(ladder: Ladder, position: int, before: Counts, after: Counts) -> Question | None:
    """Return the question which count falls, if the rung is meant to lower one and does, and three others do not."""
    meant = ladder.meant(position)
    known = {name: (old, new) for name in ON_LINES
             if (old := before.get(name)) is not None and (new := after.get(name)) is not None}  # fmt: skip
    if meant is None or meant[1] != "fall" or meant[0] not in known:
        return None
    counter, (old, new) = meant[0], known[meant[0]]
    others = [name for name, (earlier, later) in known.items() if later >= earlier and COUNTERS[name].full is None]
    others.sort(key=lambda name: (not any(known[name]), not COUNTERS[name].plots))  # zeros last
    if new >= old or len(others) < BANDS - 1:
        return None
    offered = [name for name in ON_LINES if name in (counter, *others[: BANDS - 1])]
    titles = tuple(COUNTERS[name].title for name in offered)
    because = f"{COUNTERS[counter].title}: {text_of(counter, old)} became {text_of(counter, new)}."
    return Question("Which of these four counts falls?", titles, offered.index(counter), because)


def _ended(row: Mapping[str, Any]) -> str:
    return f"It ended after {text_of('time_us', row['time_us'])}." if row["time_us"] else ""


def _times(ratio: float) -> str:
    return f"{ratio:g}×"


def _percent(part: float) -> str:
    return f"{part:g}%"


def _of_bands(
    text: str,
    key: str,
    row: Mapping[str, Any],
    rows: Sequence[Mapping[str, Any]],
    because: str,
    words: Callable[[float], str],
    asked: Sequence[float],
) -> Question:
    value = float(row[key])
    edges = asked or edges_of(value, [float(each[key]) for each in rows if each[key]])
    first = "It is slower" if key == "step" and edges[0] == 1 else f"less than {words(edges[0])}"
    choices = [first, *(f"{words(low)} to {words(high)}" for low, high in pairwise(edges)),
               f"more than {words(edges[-1])}"]  # fmt: skip
    return Question(text, tuple(choices), sum(value > edge for edge in edges), because, tuple(edges))


def edges_of(value: float, every: Sequence[float]) -> list[float]:
    """Return the edges between the bands of the range of `every` value, none of them near the right `value`."""
    low, high = log(min(every)), log(max(every))
    wider = max(0.0, log(SPREAD) - (high - low)) / 2
    low, high = low - wider, high + wider
    free = [edge for edge in _EDGES if abs(log(edge / value)) > NEAR]
    found: list[float] = []
    for part in range(1, BANDS):
        target = exp(low + (high - low) * part / BANDS)
        later = [edge for edge in free if not found or edge > found[-1]]
        found.append(min(later, key=lambda edge: abs(log(edge / target))))
    return found


@lru_cache(maxsize=64)
def _read(path: Path, changed: int, kernels: tuple[str, ...]) -> dict[str, Question]:
    """`changed`: the time of the file's last change."""
    try:
        entries = tomllib.loads(path.read_text(encoding="utf-8-sig")).get("question", [])
    except (tomllib.TOMLDecodeError, UnicodeDecodeError, OSError, RecursionError) as error:
        raise BadQuestions(f"{path.name}: {reason_text(error)}.") from None
    if not isinstance(entries, list) or not all(isinstance(entry, dict) for entry in entries):
        raise BadQuestions(f"{path.name}: `question` is a list of tables, [[question]].")
    found = {}
    for number, entry in enumerate(entries, 1):
        where = f"{path.name}, [[question]] {number}"
        found[_rung(where, entry, kernels)] = _checked(where, entry)
    return found


def questions_in(path: Path, kernels: tuple[str, ...]) -> dict[str, Question]:
    """Return the questions of a file by kernel; none without the file. BadQuestions."""
    try:
        changed = path.stat().st_mtime_ns
    except OSError:
        return {}
    return _read(path, changed, kernels)


def _rung(where: str, entry: Mapping[str, Any], kernels: tuple[str, ...]) -> str:
    rung = entry.get("rung")
    if rung not in kernels:
        raise BadQuestions(f"{where}: the ladder has no `rung` {rung!r}; it has {', '.join(kernels)}.")
    return str(rung)


def _checked(where: str, entry: Mapping[str, Any]) -> Question:
    for name in ("text", "answer", "because"):
        if not isinstance(entry.get(name), str) or not 0 < len(entry[name]) <= LONGEST:
            raise BadQuestions(f"{where}: `{name}` is missing, or longer than {LONGEST} characters.")
    choices = entry.get("choices")
    if not isinstance(choices, list) or not 2 <= len(set(map(str, choices))) == len(choices) <= MOST_CHOICES:
        raise BadQuestions(f"{where}: `choices` are 2 to {MOST_CHOICES} different answers.")
    if entry["answer"] not in tuple(_NAMES[: len(choices)]):
        raise BadQuestions(f"{where}: `answer` is a letter from a to {_NAMES[len(choices) - 1]}.")
    if unknown := set(entry) - {"rung", "text", "choices", "answer", "because"}:
        raise BadQuestions(f"{where}: {sorted(unknown)[0]!r} is not known here.")
    return Question(entry["text"], tuple(map(str, choices)), _NAMES.index(entry["answer"]), entry["because"])

"""The questions of lectures and the votes on them: one vote a voter and round, of which the last one counts."""

from __future__ import annotations

import csv
import io
import json
from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from typing import Any

from engine.store.database import now, read, write


@dataclass(frozen=True)
class Asked:
    """A question that was asked in a lecture. `record`: its text, answers and right answer as JSON values; `rounds`:
    of each round, the votes for each answer."""

    lecture: str
    name: str
    record: Mapping[str, Any]
    utc: str
    rounds: tuple[tuple[int, ...], ...]


def ask(lecture: str, name: str, record: Mapping[str, Any]) -> None:
    """Keep a question; one of the same name stays with its votes."""
    row = (lecture, name, json.dumps(record), now())
    write(lambda connection: connection.execute("INSERT OR IGNORE INTO questions VALUES (?, ?, ?, ?)", row))


def cast(lecture: str, name: str, round: int, votes: Mapping[str, int]) -> None:
    """Keep votes: voter -> the position of an answer. A vote takes the place of the voter's earlier one."""
    rows = [(lecture, name, round, voter, choice) for voter, choice in votes.items()]
    write(lambda connection: connection.executemany("REPLACE INTO votes VALUES (?, ?, ?, ?, ?)", rows))


def count(lecture: str, name: str, round: int) -> int:
    """Return how many voters have voted."""
    found = read("SELECT COUNT(*) FROM votes WHERE lecture = ? AND name = ? AND round = ?", lecture, name, round)
    return int(found[0][0]) if found else 0


def counts(lecture: str, name: str, round: int, choices: int) -> tuple[int, ...]:
    """Return the number of votes for each of so many answers."""
    rows = read("SELECT choice, COUNT(*) FROM votes WHERE lecture = ? AND name = ? AND round = ? GROUP BY choice",
                lecture, name, round)  # fmt: skip
    found = {int(choice): int(number) for choice, number in rows}
    return tuple(found.get(choice, 0) for choice in range(choices))


def all_asked(lecture: str | None = None) -> list[Asked]:
    """Return the questions of one lecture, or of all, in the order in which they were asked."""
    where, given = ("WHERE lecture = ?", (lecture,)) if lecture is not None else ("", ())
    made = []
    for of, name, text, utc in read(f"SELECT lecture, name, record, utc FROM questions {where} ORDER BY utc", *given):
        record = json.loads(text)
        last = read("SELECT MAX(round) FROM votes WHERE lecture = ? AND name = ?", of, name)[0][0] or 0
        rounds = tuple(counts(of, name, round, len(record["choices"])) for round in range(1, last + 1))
        made.append(Asked(of, name, record, utc, rounds))
    return made


def csv_of(asked: Sequence[Asked]) -> str:
    """Return one row for each answer of each round."""
    file = io.StringIO()
    writer = csv.writer(file)
    writer.writerow(["Lecture", "Asked (UTC)", "Rung", "Question", "Round", "Answer", "Right", "Votes"])
    for one in asked:
        for round, counts in enumerate(one.rounds, 1):
            for place, (answer, votes) in enumerate(zip(one.record["choices"], counts, strict=True)):
                right = "yes" if place == one.record["right"] else "no"
                writer.writerow([one.lecture, one.utc, one.name, one.record["text"], round, answer, right, votes])
    return file.getvalue()

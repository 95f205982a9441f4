"""The questions of lectures and the votes on them: one vote a voter, of which the last one counts.

While a round is open, its votes are kept by voter, and only their number can be asked for. Once it is closed, the
votes for each answer are kept, without the voters.
"""

from __future__ import annotations

import csv
import io
import json
import sqlite3
from collections.abc import Mapping, Sequence
from dataclasses import asdict, dataclass
from typing import Any

from engine.store.database import now, read, write

_OF_ROUND = "WHERE lecture = ? AND name = ? AND round = ?"


@dataclass(frozen=True)
class Round:
    """A closed round: the votes for each answer, and when it was closed."""

    counts: tuple[int, ...]
    utc: str


@dataclass(frozen=True)
class Asked:
    """A question that was asked in a lecture, with its closed rounds. `name`: ladder~rung~n~block size; `record`: its
    text, answers and right answer as JSON values."""

    lecture: str
    name: str
    record: Mapping[str, Any]
    utc: str
    rounds: tuple[Round, ...]

    def is_of(self, ladder: str, rung: str) -> bool:
        """Return whether it was asked at this rung, at any size."""
        return self.name.split("~")[:2] == [ladder, rung]


def ask(lecture: str, name: str, record: Mapping[str, Any]) -> dict[str, Any]:
    """Keep a question and return what is kept: if one of the same name was asked before, that one, for its votes."""
    row = (lecture, name, json.dumps(record), now())
    write(lambda connection: connection.execute("INSERT OR IGNORE INTO questions VALUES (?, ?, ?, ?)", row))
    return kept(lecture, name)


def kept(lecture: str, name: str) -> dict[str, Any]:
    """Return the record of a question that was asked."""
    found = read("SELECT record FROM questions WHERE lecture = ? AND name = ?", lecture, name)
    return dict(json.loads(found[0][0]))


def correct(lecture: str, name: str, record: Mapping[str, Any]) -> None:
    """Replace the record of a question, as the run that is shown answers it."""
    row = (json.dumps(record), lecture, name)
    write(lambda connection: connection.execute("UPDATE questions SET record = ? WHERE lecture = ? AND name = ?", row))


def cast(lecture: str, name: str, round: int, votes: Mapping[str, int]) -> bool:
    """Keep votes: voter -> the position of an answer. A vote takes the place of the voter's earlier one. Return False
    if the round is closed."""
    rows = [(lecture, name, round, voter, choice) for voter, choice in votes.items()]

    def keep(connection: sqlite3.Connection) -> bool:
        if connection.execute(f"SELECT 1 FROM rounds {_OF_ROUND}", (lecture, name, round)).fetchone():
            return False
        connection.executemany("REPLACE INTO votes VALUES (?, ?, ?, ?, ?)", rows)
        return True

    return write(keep)


def count(lecture: str, name: str, round: int) -> int:
    """Return how many voters have voted in an open round."""
    found = read(f"SELECT COUNT(*) FROM votes {_OF_ROUND}", lecture, name, round)
    return int(found[0][0]) if found else 0


def close(lecture: str, name: str, round: int, choices: int) -> tuple[int, ...]:
    """Close a round and return the votes for each of so many answers. A round without votes stays open."""
    key = (lecture, name, round)

    def end(connection: sqlite3.Connection) -> tuple[int, ...]:
        votes = connection.execute(f"SELECT choice, COUNT(*) FROM votes {_OF_ROUND} GROUP BY choice", key)
        found = dict(votes.fetchall())
        counts = tuple(int(found.get(choice, 0)) for choice in range(choices))
        if any(counts):
            row = (*key, json.dumps(counts), now())
            connection.execute("INSERT OR IGNORE INTO rounds VALUES (?, ?, ?, ?, ?)", row)
            connection.execute(f"DELETE FROM votes {_OF_ROUND}", key)
        return counts

    return write(end)


def rounds(lecture: str, name: str) -> list[Round]:
    """Return the closed rounds of a question."""
    found = read("SELECT counts, utc FROM rounds WHERE lecture = ? AND name = ? ORDER BY round", lecture, name)
    return [Round(tuple(json.loads(counts)), utc) for counts, utc in found]


def all_asked(lecture: str | None = None) -> list[Asked]:
    """Return the questions of one lecture, or of all, in the order in which they were asked; of their votes only those
    of closed rounds."""
    where, given = ("WHERE lecture = ?", (lecture,)) if lecture is not None else ("", ())
    found = read(f"SELECT lecture, name, record, utc FROM questions {where} ORDER BY utc", *given)
    return [Asked(of, name, json.loads(text), utc, tuple(rounds(of, name))) for of, name, text, utc in found]


def csv_of(asked: Sequence[Asked]) -> str:
    """Return one row for each answer of each round."""
    file = io.StringIO()
    writer = csv.writer(file)
    writer.writerow(["Lecture", "Asked (UTC)", "Ladder", "Rung", "N", "Block", "Question", "Round", "Closed (UTC)",
                     "Answer", "Right", "Votes"])  # fmt: skip
    for one in asked:
        for number, round in enumerate(one.rounds, 1):
            for place, (answer, votes) in enumerate(zip(one.record["choices"], round.counts, strict=True)):
                right = "yes" if place == one.record["right"] else "no"
                writer.writerow([one.lecture, one.utc, *one.name.split("~"), one.record["text"], number, round.utc,
                                 answer, right, votes])  # fmt: skip
    return file.getvalue()


def json_of(asked: Sequence[Asked]) -> str:
    """Return the questions with their records and rounds."""
    return json.dumps([asdict(one) for one in asked])

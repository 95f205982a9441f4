"""The progress of each student in each sheet: kept on the server, for the student's next visit and for the teacher.

An owner is a student's name as typed, or the number of their browser.
"""

from __future__ import annotations

from collections import Counter
from collections.abc import Callable, Container, Iterable, Mapping
from dataclasses import dataclass, field
from datetime import UTC, datetime
from unicodedata import normalize

from engine.sheets.sheet import ATTEMPTS, HINTS, SOLUTION, Sheet, Verdict
from engine.store import progress

LONGEST = 40  # letters of an owner's name
LONGEST_ANSWER = 200


def plain_name(text: str) -> str:
    """Return a name as owners have it: printable, with single spaces, and at most LONGEST letters."""
    whole = normalize("NFC", text)  # a letter and its accent: one sign on one system, two on another
    return " ".join("".join(letter if letter.isprintable() else " " for letter in whole).split())[:LONGEST]


WORDS = {True: "passed", False: "missed", None: "not checked"}
_ANSWER, _LAST, _AT = "answer to ", "last attempt at ", " at "
_STATES = {word: state for state, word in WORDS.items()}


@dataclass(frozen=True)
class Progress:
    """`checks`: the best result of each, as a Verdict's `passed`: a passed check stays passed. `hints`: the number of
    opened hints; `solution`: whether it was opened; `answers`: to the questions, by name. `last`: the results of the
    last attempt, made at `tried`; `times`: when the best results were first found; `attempts`: their number. A
    check that was never made is left out."""

    checks: Mapping[str, bool | None]
    hints: int = 0
    solution: bool = False
    answers: Mapping[str, str] = field(default_factory=dict)
    last: Mapping[str, bool | None] = field(default_factory=dict, compare=False)
    tried: str = field(default="", compare=False)
    times: Mapping[str, str] = field(default_factory=dict, compare=False)
    attempts: int = field(default=0, compare=False)

    @property
    def passed(self) -> int:
        """Return how many checks were ever passed."""
        return sum(state is True for state in self.checks.values())

    def done(self, sheet: Sheet) -> bool:
        """Return whether every check that can be made here was made and passed."""
        return all(self.checks.get(check.name, False) is not False for check in sheet.checks)

    def is_late(self, sheet: Sheet, check: str) -> bool:
        """Return whether a check was passed after the deadline."""
        return self.checks.get(check) is True and check in self.times and sheet.rules.is_late(self.times[check])

    def points(self, sheet: Sheet) -> float:
        """Return the points of the passed checks: after the deadline only the share that the course gives."""
        passed = (check for check in sheet.checks if self.checks.get(check.name) is True)
        return sum(check.points * (sheet.rules.late if self.is_late(sheet, check.name) else 1) for check in passed)

    def stuck_at(self, sheet: Sheet) -> str | None:
        """Return the first check that was never passed and that the last attempt missed."""
        missed = (one.name for one in sheet.checks if self.last.get(one.name) is False)
        return next((name for name in missed if self.checks.get(name) is not True), None)


def stuck(sheet: Sheet, everybody: Iterable[Progress]) -> list[tuple[str, int]]:
    """Return the checks at which students are stuck, with their number of students, the most first."""
    return Counter(at for one in everybody if (at := one.stuck_at(sheet))).most_common()


def stuck_text(sheet: Sheet, everybody: Iterable[Progress]) -> str:
    """Return the same in words: "banks (5), answer (2)"; "" if nobody is stuck."""
    return ", ".join(f"{check} ({count})" for check, count in stuck(sheet, everybody))


def begin_attempt(owner: str, sheet: Sheet) -> bool:
    """Count an attempt; return whether the course allows it."""
    return progress.count(owner, sheet.name, ATTEMPTS, sheet.rules.attempts) is not None


def remember(owner: str, sheet: Sheet, found: Iterable[Verdict], answers: Mapping[str, str] | None = None) -> None:
    """Save the results of the checks as the last attempt and, unless a better one is known, as the best; and the
    answers."""
    for verdict in found:
        state = f"{WORDS[verdict.passed]}{_AT}{datetime.now(UTC).isoformat(timespec='seconds')}"
        progress.save(owner, sheet.name, verdict.check, state, final=WORDS[True])
        progress.save(owner, sheet.name, f"{_LAST}{verdict.check}", state)
    for name, words in (answers or {}).items():
        progress.save(owner, sheet.name, f"{_ANSWER}{name}", words[:LONGEST_ANSWER])


def open_hint(owner: str, sheet: Sheet) -> None:
    """Save that one more hint was opened."""
    opened = of(owner, sheet).hints + 1
    progress.save(owner, sheet.name, HINTS, str(min(opened, len(sheet.hints))))


def open_solution(owner: str, sheet: Sheet) -> None:
    """Save that the solution was opened."""
    progress.save(owner, sheet.name, SOLUTION, "shown")


def of(owner: str, sheet: Sheet) -> Progress:
    """Return the owner's progress in the sheet."""
    return _read(sheet, progress.load(owner, sheet.name))


def of_all(owner: str, named: Callable[[str], Sheet], names: Container[str]) -> dict[Sheet, Progress]:
    """Return the owner's progress in each of these sheets that they have begun. `named`: a sheet by its name."""
    states = {name: found for name, found in progress.of_owner(owner).items() if name in names}
    return {sheet: _read(sheet, found) for sheet, found in ((named(name), found) for name, found in states.items())}


def of_everybody(sheet: Sheet) -> dict[str, Progress]:
    """Return the progress of everybody who has begun the sheet, by owner."""
    return {owner: _read(sheet, states) for owner, states in progress.of_everybody(sheet.name).items()}


def _read(sheet: Sheet, states: Mapping[str, str]) -> Progress:
    names = [check.name for check in sheet.checks]  # the sheet may have changed since
    best, last = ({name: _state(states.get(f"{kind}{name}", "")) for name in names} for kind in ("", _LAST))
    answers = {name: states[f"{_ANSWER}{name}"] for name in names if f"{_ANSWER}{name}" in states}
    opened, attempts = (int(words) if (words := states.get(task, "")).isdecimal() else 0 for task in (HINTS, ATTEMPTS))
    checks, tries = ({name: _STATES[word] for name, (word, _) in found.items() if word} for found in (best, last))
    tried = max(when for _, when in last.values()) if last else ""
    times = {name: when for name, (_, when) in best.items() if when}
    opened = min(opened, len(sheet.hints))
    return Progress(checks, opened, SOLUTION in states, answers, {**checks, **tries}, tried, times, attempts)


def _state(words: str) -> tuple[str, str]:
    """Return the word and the time of a stored state; a state without a time is of an earlier version."""
    word, _, when = words.partition(_AT)
    return (word, when) if word in _STATES else ("", "")

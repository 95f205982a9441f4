"""A lab sheet as read from its folder: frozen and complete."""

from __future__ import annotations

from collections.abc import Iterator
from dataclasses import dataclass, fields, replace
from datetime import UTC, datetime
from itertools import product
from random import Random

from engine.lab.setups import Setup
from engine.lectures.claim import Quantity, Relation
from engine.records import Choice

LETTERS = "abcdefghij"  # of the choices of a question
HINTS, SOLUTION, ATTEMPTS = "hints", "solution", "attempts"  # keys of the progress that are no checks
WARP = 32
_MOST_DRAWN = 1 << 16  # the largest N of a drawn run, which the emulator does in a second
LEVELS = {"beginner": "To begin with", "course": "", "advanced": "Advanced"}  # in the order of the menu
ORIGINS = {
    "lecture": "The lecture's exercise",
    "slide": "A slide's question",
    "public": "A public exercise",
    "ours": "Our exercise",
}


@dataclass(frozen=True)
class Runs:
    """The runs that a check examines: every combination. `n`, `block_size`, ... as in a Choice."""

    n: tuple[int, ...]
    block_size: tuple[int, ...]
    dtype: tuple[str, ...]
    grid_size: tuple[int | None, ...] = (None,)
    schedule: tuple[str | None, ...] = (None,)
    combine: tuple[str | None, ...] = (None,)
    parameter: tuple[int | None, ...] = (None,)

    def drawn(self, seed: str) -> Runs | None:
        """Return one run at an N between those of the runs and equal to none of them, drawn by the seed; None if there
        is no such N."""
        between = range(min(self.n) + 1, min(max(self.n), _MOST_DRAWN))
        if set(between) <= set(self.n):
            return None
        draw = Random(f"{seed} {self}")
        one = self._one(draw)
        while (n := draw.choice(between)) in self.n:
            pass
        return replace(one, n=(n,))

    def near(self, seed: str, larger: bool) -> Runs | None:
        """Return one run at an N near one of the runs', drawn by the seed: not below half of it, with `larger` also up
        to half more. It differs by whole blocks, else by whole warps, so the last block looks the same; None if
        there is no such N."""
        draw = Random(f"{seed} {self}")
        one = self._one(draw)
        n, block_size = one.n[0], one.block_size[0]
        for step in (block_size, WARP):
            found = [*range(n - step, max(n // 2, 1) - 1, -step)]
            found += range(n + step, n + n // 2 + 1, step) if larger else ()
            if left := [other for other in found if other not in self.n]:
                return replace(one, n=(draw.choice(left),))
        return None

    def _one(self, draw: Random) -> Runs:
        """Return one of the runs."""
        return Runs(**{each.name: (draw.choice(getattr(self, each.name)),) for each in fields(self)})

    def of(self, kernel: str, source: str | None, file_name: str | None, device: str) -> Iterator[Choice]:
        """The choices that run `kernel`, or `source` in its place, smallest n first."""
        every = (
            sorted(self.n),
            self.block_size,
            self.grid_size,
            self.dtype,
            self.schedule,
            self.combine,
            self.parameter,
        )
        for n, block_size, grid_size, dtype, schedule, combine, parameter in product(*every):
            yield Choice(
                kernel, n, block_size, grid_size, dtype, device=device, combine=combine, parameter=parameter,
                schedule=schedule, source=source, source_name=file_name if source is not None else None,
            )  # fmt: skip


@dataclass(frozen=True)
class Limit:
    """The condition on a quantity: its `relation` to `expected`, or if that is None, to the quantity of the kernel
    `against`, `times` as large. Times are always compared with those of `against`."""

    relation: Relation
    expected: float | tuple[str, ...] | None
    against: str = ""
    times: float = 1.0


@dataclass(frozen=True)
class Check:
    """A check of the student's file: in every one of `runs` the `quantity` must keep to all `limits`, and no word of
    `without` stands in the file, alone or before an underscore. `name`: in answers and tables; `aim`: the task in a
    sentence; `advice`: for a student who misses it; `points`: for passing."""

    name: str
    aim: str
    advice: str
    quantity: Quantity
    limits: tuple[Limit, ...]
    runs: Runs
    points: float = 1.0
    without: tuple[str, ...] = ()


@dataclass(frozen=True)
class Question:
    """`name`, `advice`, `points`: as of a Check; `aim`: the question. `answer`: the letter of the right one of
    `choices`; without choices a number, met within the fraction `tolerance` of it. `because`: the reason, shown after
    an answer."""

    name: str
    aim: str
    advice: str
    choices: tuple[str, ...]
    answer: str | float
    tolerance: float
    because: str
    points: float = 1.0

    @property
    def lettered(self) -> dict[str, str]:
        """Return the choices by their letters: a, b, ..."""
        return dict(zip(LETTERS, self.choices, strict=False))


@dataclass(frozen=True)
class Wrong:
    """A wrong submission, a `text` or answers to questions, and the check that must reject it."""

    name: str
    text: str
    check: str


@dataclass(frozen=True)
class Rules:
    """A course's rules for a sheet. `deadline`: None without one; `late`: the share of a check's points that counts if
    it is passed later; `attempts`: how often a student may check, None for any number."""

    deadline: datetime | None = None
    late: float = 0.0
    attempts: int | None = None

    def is_late(self, utc: str = "") -> bool:
        """Return whether a time (ISO 8601; by default now) is after the deadline."""
        when = datetime.fromisoformat(utc) if utc else datetime.now(UTC)
        return self.deadline is not None and when > self.deadline


@dataclass(frozen=True)
class Sheet:
    """`kernel`: its launches, data and reference judge the student's file, which has a kernel of that name. `launch`:
    in its place, the launch and reference of any kernel; both None: the sheet only asks questions. `start`: the
    student's first text; `solution`: a text that passes every check, shown at the end with `afterwards` and `today`,
    whose figures come from recorded runs like a ladder's. `ladder`: its ladder; `origin`: the task's author, one of
    ORIGINS; `level`: one of LEVELS; `rules`: of the course. `text`, `hints` and `afterwards` are Markdown."""

    name: str
    title: str
    lecture: str
    ladder: str
    origin: str
    level: str
    text: str
    checks: tuple[Check | Question, ...]
    hints: tuple[str, ...]
    afterwards: str
    today: tuple[str, ...]
    kernel: str | None
    launch: Setup | None
    start: str
    solution: str
    wrong: tuple[Wrong, ...]
    rules: Rules = Rules()

    @property
    def kind(self) -> str:
        """Return level, origin and lecture in the form of the line below the title."""
        return " · ".join(filter(None, (LEVELS[self.level], ORIGINS[self.origin], self.lecture)))

    @property
    def function(self) -> str | None:
        """Return the kernel that the student's file must have; None: there is no file."""
        return self.launch.kernel if self.launch else self.kernel

    @property
    def points(self) -> float:
        """Return the points of all checks."""
        return sum(check.points for check in self.checks)

    @property
    def questions(self) -> tuple[Question, ...]:
        """Return the checks that are answered in words."""
        return tuple(check for check in self.checks if isinstance(check, Question))


@dataclass(frozen=True)
class Verdict:
    """The result of one check. `passed` None: it could not be made here. `sentence`: why it was not passed, else the
    finding; `line`: of the student's file, if there is one; `value`, `limit`: the found number and its limit."""

    check: str
    passed: bool | None
    sentence: str
    line: int | None = None
    value: float | None = None
    limit: float | None = None

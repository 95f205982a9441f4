"""A lab sheet as it is read from its folder: frozen, with nothing left to look up."""

from __future__ import annotations

from collections.abc import Iterator
from dataclasses import dataclass, fields
from itertools import product
from random import Random

from engine.lab.setups import Setup
from engine.lectures.claim import Quantity, Relation
from engine.records import Choice

LETTERS = "abcdefghij"  # of the choices of a question
HINTS, SOLUTION = "hints", "solution"  # what a student opens besides making checks
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
    """The runs that a check looks at: every combination. `n`, `block_size`, ... as in a Choice."""

    n: tuple[int, ...]
    block_size: tuple[int, ...]
    dtype: tuple[str, ...]
    grid_size: tuple[int | None, ...] = (None,)
    schedule: tuple[str | None, ...] = (None,)
    combine: tuple[str | None, ...] = (None,)
    parameter: tuple[int | None, ...] = (None,)

    def drawn(self, seed: str) -> Runs | None:
        """Return one run at an N between those of the runs, drawn by the seed; None if there is none between."""
        fewest, most = min(self.n), min(max(self.n), _MOST_DRAWN)
        if most - fewest < 2:
            return None
        draw = Random(seed)
        one = {each.name: (draw.choice(getattr(self, each.name)),) for each in fields(self)}
        return Runs(**one | {"n": (draw.randrange(fewest + 1, most),)})

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
    """What a quantity must be: in `relation` to `expected`; None: to what the kernel `against` has. Times are always
    compared with those of `against`."""

    relation: Relation
    expected: float | tuple[str, ...] | None
    against: str = ""


@dataclass(frozen=True)
class Check:
    """A check of the student's file: in every one of `runs` the `quantity` must keep to all `limits`. `name`: what an
    answer or a table calls it; `aim`: what is asked for, a sentence; `advice`: what a student needs who misses it."""

    name: str
    aim: str
    advice: str
    quantity: Quantity
    limits: tuple[Limit, ...]
    runs: Runs


@dataclass(frozen=True)
class Question:
    """`name`, `advice`: as of a Check; `aim`: the question. `answer`: the letter of the right one of `choices`; without
    choices a number, met within the fraction `tolerance` of it. `because`: why, for those who have answered."""

    name: str
    aim: str
    advice: str
    choices: tuple[str, ...]
    answer: str | float
    tolerance: float
    because: str

    @property
    def lettered(self) -> dict[str, str]:
        """Return the choices by their letters: a, b, ..."""
        return dict(zip(LETTERS, self.choices, strict=False))


@dataclass(frozen=True)
class Wrong:
    """A wrong answer, `text` or answers to questions, and the check that must reject it."""

    name: str
    text: str
    check: str


@dataclass(frozen=True)
class Sheet:
    """`kernel`: whose launches, data and reference judge the student's file, which has a kernel of that name. `launch`:
    in its place, how any kernel is launched and what is right; both None: the sheet only asks. `start`: what the
    student begins with; `solution`: what passes every check, shown afterwards with `afterwards` and `today`: sentences
    whose figures are filled in from recorded runs, as a ladder's are. `ladder`: the one that it belongs to; `origin`:
    whose task it is, one of ORIGINS; `level`: one of LEVELS. `text`, `hints` and `afterwards` are Markdown."""

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

    @property
    def kind(self) -> str:
        """Return level, origin and lecture as they stand below the title."""
        return " · ".join(filter(None, (LEVELS[self.level], ORIGINS[self.origin], self.lecture)))

    @property
    def function(self) -> str | None:
        """Return the kernel that the student's file must have; None: there is no file."""
        return self.launch.kernel if self.launch else self.kernel

    @property
    def questions(self) -> tuple[Question, ...]:
        """Return the checks that are answered in words."""
        return tuple(check for check in self.checks if isinstance(check, Question))


@dataclass(frozen=True)
class Verdict:
    """What came of one check. `passed` None: it could not be made here. `sentence`: why not passed, else what was
    found; `line`: of the student's file, where there is one; `value`, `limit`: the number that was found, and the one
    that it had to keep to."""

    check: str
    passed: bool | None
    sentence: str
    line: int | None = None
    value: float | None = None
    limit: float | None = None

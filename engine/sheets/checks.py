"""The checks of a sheet, read from its tables."""

from __future__ import annotations

from dataclasses import replace

from engine.catalogue import Kernel, Ladder, default_choice, kernel_named
from engine.lab.setups import Setup
from engine.records import Choice
from engine.records.counters import COUNTERS
from engine.records.words import whole_number
from engine.sheets.sheet import LETTERS, Check, Counted, Faster, NoFinding, Question, RightAnswer, Runs
from engine.sheets.table import Table

KINDS = ("answer", "findings", "counter", "time", "question")


def usual_runs(table: Table, kernel: Kernel | None, ladder: Ladder | None, launch: Setup | None) -> Runs:
    """The runs of a check that names none: those of the sheet's [runs]; else as the ladder or the kernel has them. A
    launch of one's own has its block size, if that is a number, and no N and no type."""
    if launch is not None:
        block = launch.block[0]
        return runs_of(table, Runs((), (int(block),) if block.isdecimal() else (), ("",)))
    if kernel is None:
        return Runs((), (), ())
    usual: Ladder | Choice = ladder or default_choice(kernel.name)
    return runs_of(table, Runs((usual.n,), (usual.block_size,), (usual.dtype,)))


def runs_of(table: Table, usual: Runs) -> Runs:
    """`usual`, but for what the table names under the fields' names; each is one value or several."""
    return Runs(
        n=tuple(_size(table, n) for n in table.several("n", (int, str), "a whole number", usual.n)),
        block_size=table.several("block_size", int, "a whole number", usual.block_size),
        dtype=table.several("dtype", str, "a type", usual.dtype),
        grid_size=table.several("grid_size", int, "a whole number", usual.grid_size),
        schedule=table.several("schedule", str, "a schedule", usual.schedule),
        combine=table.several("combine", str, "a way to combine blocks", usual.combine),
        parameter=table.several("parameter", int, "a whole number", usual.parameter),
    )


def check_of(table: Table, usual: Runs, kernel: Kernel | None) -> Check:
    """The check of one [[check]]; without runs of its own it looks at the `usual` ones. Only what takes the place of a
    `kernel` can be compared with others."""
    kind = table.text("kind")
    if kind not in KINDS:
        raise table.refusal(f"`kind` is one of {', '.join(KINDS)}")
    name, aim, advice = table.text("name", kind), table.text("aim"), table.text("advice")
    if kind == "time" and kernel is None:
        raise table.refusal("only what takes the place of a `kernel` is timed beside another one")
    found: Check
    match kind:
        case "answer":
            found = RightAnswer(name, aim, advice, _some(table, runs_of(table, usual)))
        case "findings":
            found = NoFinding(name, aim, advice, _some(table, runs_of(table, usual)))
        case "counter":
            found = _counted(table, name, aim, advice, _some(table, runs_of(table, usual)), kernel)
        case "time":
            against = kernel_named(table.text("against")).name
            runs = runs_of(table, replace(usual, schedule=(None,)))  # a GPU chooses its own order
            found = Faster(name, aim, advice, runs, against, table.number("times"))
        case _:
            found = _question(table, name, aim, advice)
    table.end()
    return found


def _some(table: Table, runs: Runs) -> Runs:
    if not runs.n or not runs.block_size:
        raise table.refusal("it needs an `n` and a `block_size` to run at")
    return runs


def _counted(table: Table, name: str, aim: str, advice: str, runs: Runs, kernel: Kernel | None) -> Counted:
    counter, least, most = table.text("counter"), _bound(table, "at_least"), _bound(table, "at_most")
    if counter not in COUNTERS:
        raise table.refusal(f"there is no counter {counter!r}")
    if least is None and most is None:
        raise table.refusal("`at_least` or `at_most` is missing")
    if kernel is None and (isinstance(least, str) or isinstance(most, str)):
        raise table.refusal("only what takes the place of a `kernel` is counted beside another one: give a number")
    return Counted(name, aim, advice, runs, counter, least, most)


def _bound(table: Table, name: str) -> float | str | None:
    bound: float | str | None = table.one_of(name, (int, float, str), "a number or a kernel", None)
    return kernel_named(bound).name if isinstance(bound, str) else bound


def _question(table: Table, name: str, aim: str, advice: str) -> Question:
    choices = table.several("choices", str, "a text", ())
    answer = table.one_of("answer", (int, float, str), "a letter or a number")
    if choices and not (isinstance(answer, str) and answer in LETTERS[: len(choices)]):
        raise table.refusal(f"`answer` is the letter of a choice, {LETTERS[0]} to {LETTERS[len(choices) - 1]}")
    if not choices:
        answer = float(_size(table, answer)) if isinstance(answer, str) else float(answer)
    return Question(name, aim, advice, choices, answer, table.number("tolerance", 0.0), table.text("because"))


def _size(table: Table, words: int | str) -> int:
    try:
        return words if isinstance(words, int) else whole_number(words)
    except ValueError:
        raise table.refusal(f"{words!r} is no whole number") from None

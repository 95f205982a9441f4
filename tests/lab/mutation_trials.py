"""Try mutants of right kernels: whether the checks of a sheet or of the lab find them, else whether any answer differs.

python -m tests.lab.mutation_trials --count 200 --seed 1
"""

from __future__ import annotations

import argparse
import random
from collections import Counter
from collections.abc import Callable, Iterator
from dataclasses import dataclass, replace
from functools import partial

import numpy as np

from engine.backends.emulator import launch
from engine.backends.emulator.state.machine import Options
from engine.backends.emulator.state.schedule import parse_schedule
from engine.backends.measure import failed, measure
from engine.catalogue import KERNELS, data, default_choice, topic_of
from engine.lab import kernels
from engine.lab.arguments import array_names
from engine.lab.checking import check_own, check_rung
from engine.lab.setups import Setup, launching
from engine.lab.templates import TEMPLATES
from engine.lab.trial_arrays import ORDERS
from engine.lectures.claim import TimeRatio
from engine.plan import plan, settle
from engine.records import Array, Choice, CompileError, Measurement, NotRunnable, RunFailed
from engine.sheets.folder import load, names
from engine.sheets.judging import Asked, Submission, passed, verdicts
from engine.sheets.sheet import Question, Sheet
from tests.lab.mutants import Mutant, mutants_of

FREE_ORDER = ("reserve_buffer", "filter_atomic", "filter_aggregated")
RUNGS = ("reduce_warp_shuffle", "reduce_grid_stride_atomic", "transpose_padded", "matmul_tiled", "histogram_shared",
         "reduce_max", "block_prefix_sum", "copy_offset", "atomic_max", "divergence_warps", "row_sums_shuffle",
         "reduce_first_add", "trapezoid_shared_host", "floats_tree", "floats_kahan", "branch_exchange_syncwarp",
         "prefix_sum_lookback", "filter_aggregated", "argmax_vectorized", "row_sums_vectorized", "histogram_warps",
         "matmul_register_2d", "reduce_vectorized", "atomic_add_aggregated", "atomic_inc", "transpose_vectorized",
         "copy_strided", "matrix_shuffled", "column_sums", "order_place")  # fmt: skip
CASES = 8
_FAILURES = (NotRunnable, CompileError, RunFailed)
_STEPS, _SECONDS = 2_000_000, 10


@dataclass(frozen=True)
class Subject:
    """A right kernel. `finds(text)`: whether its checks call a text wrong; `answer(text, case)`: the arrays after a run
    with other numbers, sizes and orders; None if it does not end well."""

    name: str
    text: str
    finds: Callable[[str], bool]
    answer: Callable[[str, int], tuple[Array, ...] | None]


@dataclass(frozen=True)
class Tried:
    """`outcome`: "found", "missed", "equal" (no answer differed) or "no kernel" (it does not compile)."""

    subject: str
    mutant: Mutant
    outcome: str


def tried(subject: Subject, mutant: Mutant) -> Tried:
    """Try one mutant."""
    outcome = partial(Tried, subject.name, mutant)
    if subject.finds(mutant.text):
        return outcome("found")
    for case in range(CASES):
        right = subject.answer(subject.text, case)
        if right is not None and not _same(right, subject.answer(mutant.text, case)):
            return outcome("missed")
    return outcome("equal")


def _same(right: tuple[Array, ...], other: tuple[Array, ...] | None) -> bool:
    return other is not None and all(
        np.allclose(one, two, rtol=1e-4, atol=1e-4 * float(np.abs(one).max(initial=0)), equal_nan=True)
        if one.dtype.kind == "f" else np.array_equal(one, two)
        for one, two in zip(right, other, strict=True)
    )  # fmt: skip


def subjects() -> list[Subject]:
    """The solutions of the sheets, the templates of the lab, and some kernels of the catalogue."""
    sheets = [load(name) for name in names()]
    return [
        *(_of_sheet(sheet) for sheet in sheets if sheet.function),
        *map(_of_template, TEMPLATES),
        *map(_of_rung, RUNGS),
    ]


def _of_sheet(sheet: Sheet) -> Subject:
    judged = (check for check in sheet.checks if not isinstance(check, Question))
    checks = tuple(check for check in judged if not isinstance(check.quantity, TimeRatio))
    asked = replace(sheet, checks=checks)

    def run(choice: Asked) -> Measurement:
        assert isinstance(choice, Choice), "no check of a time is left"
        try:
            if sheet.launch is not None:
                setup = _launch(sheet, choice)
                return check_own(setup, choice.n, str(choice.source), "mine.cu", choice.schedule, False).measurement
            return measure(settle(choice))
        except _FAILURES as error:
            return failed(choice, error)

    def finds(text: str) -> bool:
        return not passed(verdicts(asked, Submission(text, {}, "mine.cu"), run))

    runs = [one for check in checks for one in check.runs.of(sheet.function or "", "", "mine.cu", "emulator")]
    usual = [replace(one, schedule=None) for one in runs if one.device == "emulator"]
    if sheet.launch is not None:
        return Subject(sheet.name, sheet.solution, finds, lambda text, case: _own_answer(
            _launch(sheet, usual[case % len(usual)]), usual[case % len(usual)].n, text, case))  # fmt: skip
    return Subject(sheet.name, sheet.solution, finds, partial(_answer, usual))


def _launch(sheet: Sheet, choice: Choice) -> Setup:
    assert sheet.launch is not None
    return replace(sheet.launch, block=(str(choice.block_size), *sheet.launch.block[1:]))


def _of_template(name: str) -> Subject:
    template = TEMPLATES[name]
    n = min(template.n, 4096)

    def finds(text: str) -> bool:
        found = check_own(template.setup, n, text, "mine.cu")
        return found.measurement.status != "ok" or (found.remark is not None and name != "tile")

    return Subject(name, template.text, finds, lambda text, case: _own_answer(template.setup, n, text, case))


def _of_rung(name: str) -> Subject:
    choice = default_choice(name)
    n = 64 if choice.n <= 4096 and "width" in topic_of(KERNELS[name]).size_label else 4096
    choice = settle(replace(choice, n=n, device="emulator"))
    sizes = [replace(choice, n=n + more) for more in (0, -1, 1)]

    def finds(text: str) -> bool:
        return check_rung(replace(choice, source=text, source_name="mine.cu")).measurement.status != "ok"

    return Subject(name, KERNELS[name].text, finds, partial(_answer, sizes))


def _order(case: int) -> str | None:
    return (None, *ORDERS)[case % 3]


def _own_answer(setup: Setup, n: int, text: str, case: int) -> tuple[Array, ...] | None:
    try:
        made, own = launching(setup, n, trial=case + 10), kernels.kernel(text, setup.kernel)
        run = own.run(
            made.grid, made.block, made.arguments, shared=made.shared, schedule=_order(case), seconds=_SECONDS
        )
    except _FAILURES:
        return None
    return tuple(run.arrays[name] for name in array_names(own.parameters, None) if name in run.arrays)


def _answer(choices: list[Choice], text: str, case: int) -> tuple[Array, ...] | None:
    choice = choices[case % len(choices)]
    make = np.random.default_rng(case)
    try:
        made = plan(settle(replace(choice, source=text, source_name="mine.cu")))
        recipe = topic_of(choice.kernel).input_recipe(choice)
        inputs = {name: make.permutation(data.repeated(numbers, count)) for name, (numbers, count) in recipe.items()}
        if case % 2 and all((array < 0).any() for array in inputs.values()):  # neither indices nor values to count
            inputs = {name: -array for name, array in inputs.items()}
        options = Options(step_limit=_STEPS, seconds=_SECONDS)  # the clock starts here
        run = launch.execute(made, inputs, observers=(), schedule=parse_schedule(_order(case)), options=options)
    except _FAILURES:
        return None
    return (np.sort(run.output) if choice.kernel in FREE_ORDER else run.output,)


def sample(count: int, seed: int) -> Iterator[tuple[Subject, Mutant]]:
    """Draw mutants: as many of each subject, and of each subject as many of each rule, as possible."""
    make = random.Random(seed)
    waiting = []
    for subject in subjects():
        by_rule: dict[str, list[Mutant]] = {}
        for mutant in mutants_of(subject.text):
            by_rule.setdefault(mutant.rule, []).append(mutant)
        groups = list(by_rule.values())
        make.shuffle(groups)
        for group in groups:
            make.shuffle(group)
        waiting.append((subject, [one for rank in range(99) for group in groups for one in group[rank : rank + 1]]))
    make.shuffle(waiting)
    drawn = 0
    for rank in range(max(len(mutants) for _, mutants in waiting)):
        for subject, mutants in waiting:
            if drawn < count and rank < len(mutants):
                drawn += 1
                yield subject, mutants[rank]


def main() -> None:
    """Try a sample and print the results."""
    options = argparse.ArgumentParser(description=__doc__)
    options.add_argument("--count", type=int, default=200)
    options.add_argument("--seed", type=int, default=1)
    given, outcomes = options.parse_args(), Counter[str]()
    for subject, mutant in sample(given.count, given.seed):
        one = tried(subject, mutant)
        outcomes[one.outcome] += 1
        if one.outcome != "found":
            line = mutant.text.splitlines()[mutant.line - 1].strip()
            print(f"{one.outcome:7} {subject.name}, {mutant.rule}, line {mutant.line}: {line}", flush=True)
    print(dict(outcomes))


if __name__ == "__main__":
    main()

"""What a submission is worth, check by check.

verdicts(sheet, submission, run) -> a Verdict a check; `run(choice)` gives the Measurement, as the service does.
judging(sheet, submission)       -> the same for who cannot wait: it asks for each run, and is sent its Measurement.
"""

from __future__ import annotations

import re
from collections.abc import Callable, Generator, Iterable, Iterator, Mapping
from dataclasses import dataclass, field, replace

from engine.catalogue import kernel_named
from engine.plan import strides
from engine.records import Choice, Measurement
from engine.records.counters import COUNTERS, with_derived
from engine.records.words import size_text
from engine.sheets.questions import answered
from engine.sheets.sheet import Check, Counted, Faster, NoFinding, Question, RightAnswer, Runs, Sheet, Verdict

Run = Callable[[Choice], Measurement]
Judged = Generator[Choice, Measurement, Verdict]  # asks for runs, is sent what they gave, and comes to a verdict
NEEDS_GPU = "Not checked here: it needs a GPU."
_RAN = ("ok", "hazard", "wrong")
# At another size they would end the same way and take as long again: after one, nothing else of the file is run.
_ENDS_ALL = ("compile-error", "timeout", "crashed", "refused")


@dataclass(frozen=True)
class Submission:
    """What a student hands in. `text`: the kernel's file, None where there is none; `answers`: to the questions, by
    the check's name; `file_name`: what messages call the file."""

    text: str | None
    answers: Mapping[str, str] = field(default_factory=dict)
    file_name: str = "kernel.cu"


def verdicts(sheet: Sheet, submission: Submission, run: Run, gpu: bool = False) -> Iterator[Verdict]:
    """The verdict on every check, in order, each as soon as it is known. `gpu`: as `judging` has it."""
    steps = judging(sheet, submission, gpu)
    step = next(steps, None)
    while step is not None:
        if isinstance(step, Verdict):
            yield step
            step = next(steps, None)
        else:
            step = steps.send(run(step))


def judging(
    sheet: Sheet, submission: Submission, gpu: bool = False
) -> Generator[Choice | Verdict, Measurement | None, None]:
    """Yields the verdict on every check, in order; before it the runs that it needs, one by one, and is sent the
    Measurement of each.

    `gpu`: whether there is one to time on; only what has passed all checks before is timed, and at least one: a shared
    GPU runs what the emulator has tried.
    """
    runner = _Runner(sheet.function or "", submission)
    good, ran = True, False
    for check in sheet.checks:
        verdict = yield from _verdict(check, runner, submission, gpu, good and ran)
        if not isinstance(check, Question):
            good, ran = good and verdict.passed is not False, ran or verdict.passed is True
        yield verdict


def passed(found: Iterable[Verdict]) -> bool:
    """Whether nothing failed; what could not be checked here does not count."""
    return all(verdict.passed is not False for verdict in found)


class _Runner:
    """Asks for the runs of a submission's file, each choice once, and for nothing more after a run that ends all."""

    def __init__(self, kernel: str, submission: Submission) -> None:
        self._kernel, self._submission = kernel, submission
        self._known: dict[Choice, Measurement] = {}
        self._ended: Measurement | None = None

    def choices(self, runs: Runs, device: str) -> Iterator[Choice]:
        """What is run of the file, in order."""
        return runs.of(self._kernel, self._submission.text, self._submission.file_name, device)

    def own(self, choice: Choice) -> Generator[Choice, Measurement, Measurement]:
        """The run of the file."""
        if self._ended is None:
            found = yield from self._of(choice)
            if found.status in _ENDS_ALL:
                self._ended = found
        return self._ended or self._known[choice]

    def beside(self, choice: Choice, kernel: str) -> Generator[Choice, Measurement, Measurement]:
        """The run of a kernel of the catalogue at the same sizes."""
        other = kernel_named(kernel)
        return self._of(
            replace(
                choice,
                kernel=kernel,
                source=None,
                source_name=None,
                grid_size=choice.grid_size if strides(other) else None,
                combine=choice.combine if choice.combine in other.combines else None,
                parameter=choice.parameter if other.parameter else None,
            )
        )

    def _of(self, choice: Choice) -> Generator[Choice, Measurement, Measurement]:
        if choice not in self._known:
            self._known[choice] = yield choice
        return self._known[choice]


def _verdict(check: Check, runner: _Runner, submission: Submission, gpu: bool, good: bool) -> Judged:
    if isinstance(check, Question):
        return answered(check, submission.answers.get(check.name))
    if submission.text is None:
        return Verdict(check.name, False, "There is no .cu file.")
    match check:
        case RightAnswer():
            return (yield from _right(check, runner))
        case NoFinding():
            return (yield from _safe(check, runner))
        case Counted():
            return (yield from _counted(check, runner))
        case Faster():
            if gpu and not good:
                return Verdict(check.name, None, "Not timed: only what passes the other checks is.")
            return (yield from _faster(check, runner)) if gpu else Verdict(check.name, None, NEEDS_GPU)
    raise TypeError(check)


def _right(check: RightAnswer, runner: _Runner) -> Judged:
    count = 0
    for choice in runner.choices(check.runs, "emulator"):
        found = yield from runner.own(choice)
        if found.status not in ("ok", "hazard"):
            ended = _failed(check, choice, found)
            return ended if found.status in _ENDS_ALL else replace(ended, sentence=f"{ended.sentence} {check.advice}")
        count += 1
    return Verdict(check.name, True, f"Right in {_runs(count)}.")


def _safe(check: NoFinding, runner: _Runner) -> Judged:
    count = 0
    for choice in runner.choices(check.runs, "emulator"):
        found = yield from runner.own(choice)
        if found.findings and found.status in _RAN:
            first = found.findings[0]
            return Verdict(check.name, False, f"{_where(choice)}: {first.message} {check.advice}", first.line)
        if found.status not in _RAN:
            return _failed(check, choice, found)
        count += 1
    return Verdict(check.name, True, f"No hazard in {_runs(count)}.")


def _counted(check: Counted, runner: _Runner) -> Judged:
    title, told = COUNTERS[check.counter].title, ""
    for choice in runner.choices(check.runs, "emulator"):
        found = yield from runner.own(choice)
        if found.status == "wrong":
            return Verdict(check.name, False, f"{_where(choice)}: The answer is wrong, so its counts say nothing.")
        if found.status not in _RAN:
            return _failed(check, choice, found)
        count = _count(found, check.counter)
        for bound, sign, words in ((check.at_least, -1, "at least"), (check.at_most, 1, "at most")):
            limit = (
                _count((yield from runner.beside(choice, bound)), check.counter) if isinstance(bound, str) else bound
            )
            if limit is not None and sign * count > sign * limit:
                as_in = f", as in {bound}" if isinstance(bound, str) else ""
                sentence = f"{_where(choice)}: {title}: {count:,.6g}, and wanted are {words} {limit:,.6g}{as_in}."
                return Verdict(check.name, False, f"{sentence} {check.advice}")
        told = f"{title}: {count:,.6g} at {_where(choice)}."
    return Verdict(check.name, True, told)


def _faster(check: Faster, runner: _Runner) -> Judged:
    told = ""
    for choice in runner.choices(check.runs, "gpu"):
        found = yield from runner.own(choice)
        other = yield from runner.beside(choice, check.against)
        if found.status not in ("ok", "hazard"):
            return _failed(check, choice, found)
        if found.time_us is None or other.time_us is None:
            return Verdict(check.name, None, f"Not timed: {other.reason or 'this GPU gave no time.'}")
        times = other.time_us / found.time_us
        told = f"{_where(choice)}: {found.time_us:,.1f} µs, {times:.2f} times as fast as {check.against}"
        if times < check.times:
            return Verdict(check.name, False, f"{told}; {check.times:g} times are wanted. {check.advice}")
    return Verdict(check.name, True, f"{told}.")


def _count(found: Measurement, counter: str) -> float:
    return with_derived(found.counters or {}).get(counter, 0.0)


def _failed(check: Check, choice: Choice, found: Measurement) -> Verdict:
    """What a run says that did not end well."""
    reason = found.reason or f"The run ended: {found.status}."
    line = found.findings[0].line if found.findings else None
    if line is None and (named := re.search(r"\bline (\d+)", reason)):
        line = int(named[1])
    return Verdict(check.name, False, reason if found.status in _ENDS_ALL else f"{_where(choice)}: {reason}", line)


def _where(choice: Choice) -> str:
    parts = [f"N = {size_text(choice.n)}", f"block size {choice.block_size}"]
    parts += [f"grid size {choice.grid_size:,}"] if choice.grid_size else []
    parts += [choice.schedule] if choice.schedule else []
    return ", ".join(parts)


def _runs(count: int) -> str:
    return "1 run" if count == 1 else f"{count} runs"

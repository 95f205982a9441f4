"""Judge a submission, check by check.

verdicts(sheet, submission, run) -> a Verdict a check; `run(choice)` gives the Measurement, as the service does, and
`run(Estimation)` the Estimate.
judging(sheet, submission) -> the same for a caller that cannot wait and sends the Measurement of each run.
"""

from __future__ import annotations

import re
from collections.abc import Callable, Generator, Iterable, Iterator, Mapping, Sequence
from dataclasses import dataclass, field, replace
from functools import lru_cache

from engine.catalogue import KERNELS, default_choice, kernel_named
from engine.lab.checking import orders_of
from engine.lab.pasted_source import device_part, without_own_headers
from engine.lab.signatures import with_c_name
from engine.lab.top_level import uncommented
from engine.lab.trial_arrays import ORDERS
from engine.lectures import judge
from engine.lectures.claim import Claim, Counted, Findings, Status, TimeRatio
from engine.lectures.judge import counted, decided
from engine.model.estimate import Estimate
from engine.model.rungs import known, size_for
from engine.plan import plan, settle, strides
from engine.records import Choice, Launch, Measurement
from engine.records.counters import COUNTERS
from engine.records.words import size_text
from engine.sheets.answers import answered
from engine.sheets.sheet import Check, Limit, Question, Sheet, Verdict

_PASTED = re.compile(r"##|%:%:")
_OF_HOST = re.compile(r"\bmain[ \t]*\(|^[ \t]*#[ \t]*include[ \t]*<(?:iostream|vector|cuda_runtime)", re.MULTILINE)


@dataclass(frozen=True)
class Estimation:
    """A request to estimate the time of a choice on a GPU."""

    choice: Choice


Asked = Choice | Estimation
Answer = Measurement | Estimate
Run = Callable[[Asked], Answer]
Judged = Generator[Asked, Answer, Verdict]  # asks for runs, receives their results, and returns a verdict
NOT_TIMED = "Not timed: only what passes the other checks is."
_MOST_TURNS = 256  # blocks that run one after the other: some two seconds
NOT_RUN = "Not run: the file takes too many instructions for these sizes. First pass the checks that it misses."
_MOST_AFTER_A_MISS = 2**20  # warp instructions of a check's runs: some 20 seconds
CLOSE = 0.85  # of a required ratio of times: between it and the ratio itself an estimate decides nothing
# At another size they would end in the same way and take as long again, so after one of them the file runs no more.
_ENDS_ALL = ("compile-error", "timeout", "crashed", "refused")


@dataclass(frozen=True)
class Submission:
    """The files and answers of a student. `text`: the kernel's file, None without a file; `answers`: to the questions,
    by the check's name; `file_name`: the file's name in messages."""

    text: str | None
    answers: Mapping[str, str] = field(default_factory=dict)
    file_name: str = "kernel.cu"


def verdicts(
    sheet: Sheet, submission: Submission, run: Run, gpu: bool = False, seed: int | None = None
) -> Iterator[Verdict]:
    """Yield the verdict on every check, in order, each as soon as it is known. `gpu`, `seed`: as for `judging`."""
    steps = judging(sheet, submission, gpu, seed)
    step = next(steps, None)
    while step is not None:
        if isinstance(step, Verdict):
            yield step
            step = next(steps, None)
        else:
            step = steps.send(run(step))


def judging(
    sheet: Sheet, submission: Submission, gpu: bool = False, seed: int | None = None
) -> Generator[Asked | Verdict, Answer | None, None]:
    """Yield the verdict on every check, in order, and before it the runs that it needs, one by one; the caller sends
    the Measurement of each.

    `gpu`: whether there is one to time on; without one, times are estimated. Only a text that has passed all earlier
    checks, and at least one, is timed: a shared GPU runs only texts that the emulator has tried. A text that has missed
    one is not run for long. `seed`: draws one more run for each check but one of a time, at an N that no page
    shows: no table of its answers passes, and no text that does as asked at the sheet's sizes alone; None: no such run.
    """
    runner = _Runner(sheet, submission, seed)
    good, ran = True, False
    for check in sheet.checks:
        verdict = yield from _verdict(check, runner, submission, gpu, good and ran, not good)
        if not isinstance(check, Question):
            good, ran = good and verdict.passed is not False, ran or verdict.passed is True
        yield verdict


def passed(found: Iterable[Verdict]) -> bool:
    """Return whether nothing failed; what could not be checked here does not count."""
    return all(verdict.passed is not False for verdict in found)


class _Runner:
    """Asks for the runs of a submission's file, each choice once, and for no more after a run that ends them all."""

    def __init__(self, sheet: Sheet, submission: Submission, seed: int | None) -> None:
        self.listed = sheet.launch is None  # the kernel is one of the catalogue
        text, kernel = submission.text, sheet.function or ""
        if self.listed and text:
            text = _without_host(text.removeprefix("\ufeff"))  # the mark of a file from Windows
            for name in _launched(kernel):
                text = with_c_name(text, name)
        self._kernel, self._submission, self._seed = kernel, replace(submission, text=text), seed
        self._known: dict[Choice, Measurement] = {}
        self._ended: Measurement | None = None
        self._longest, self._each = 0.0, 0.0  # warp instructions of the longest run, and those of it for a thread
        self.hazardous = False

    def choices(self, check: Check, device: str) -> Iterator[Choice]:
        """Return the runs of the file, in order."""
        return check.runs.of(self._kernel, self._submission.text, self._submission.file_name, device)

    def drawn(self, check: Check) -> Check | None:
        """Return the check at an N that the sheet does not show, with the limits that hold there. Those of a counter
        are a number that fewer elements do not reach, or a kernel's own count, from which a text may differ by a
        quarter at its border. None: there is no such N or limit."""
        seed, limits, runs = str(self._seed), check.limits, None
        if isinstance(check.quantity, Counted):
            limits = tuple(_about(one) for one in limits if one.against or one.relation == "at most")
            shared = check.quantity.over == "busiest_warp_share"  # of fewer warps each has more
            if all(one.against for one in limits) or not shared:
                runs = check.runs.near(seed, all(one.against for one in limits))
        elif isinstance(check.quantity, Status | Findings):
            runs = check.runs.drawn(seed)
        return replace(check, runs=runs, limits=limits) if runs and limits and self._seed is not None else None

    def own(self, choice: Choice) -> Generator[Asked, Answer, Measurement]:
        """Ask for the run of the file."""
        if self._ended is None:
            found = yield from self._of(choice)
            self.hazardous = self.hazardous or found.status == "hazard"
            if found.status in _ENDS_ALL:
                self._ended = found
            took = (found.counters or {}).get("warp_instructions", 0)
            if took >= self._longest:  # in a short one much is for the kernel, and not for the elements
                self._longest, self._each = took, took / _threads(choice)
        return self._ended or self._known[choice]

    def expected(self, choices: Sequence[Choice]) -> float:
        """Return how many warp instructions the runs take that were not made yet, as far as the others tell; 0 if a run
        has ended the file, which runs no more."""
        if self._ended is not None:
            return 0.0
        return self._each * sum(_threads(choice) for choice in choices if choice not in self._known)

    def beside(self, choice: Choice, kernel: str) -> Generator[Asked, Answer, Measurement]:
        """Ask for the run of a kernel of the catalogue at the same sizes."""
        return self._of(at_sizes_of(choice, kernel))

    def _of(self, choice: Choice) -> Generator[Asked, Answer, Measurement]:
        if choice not in self._known:
            found = yield choice
            assert isinstance(found, Measurement)
            self._known[choice] = found
        return self._known[choice]


def _about(limit: Limit) -> Limit:
    """Return the limit with a quarter of a kernel's count to spare."""
    spare = 1.25 if limit.relation == "at most" else 0.75
    return replace(limit, times=limit.times * spare) if limit.against else limit


@lru_cache(maxsize=64)
def _launched(kernel: str) -> tuple[str, ...]:
    """Return the kernels that a kernel of the catalogue launches: itself, and one for the results of its blocks."""
    steps = plan(settle(default_choice(kernel))).steps
    return tuple({kernel: None} | {step.kernel: None for step in steps if isinstance(step, Launch)})


def _without_host(text: str) -> str:
    """Return the text without its host code, in the same lines; only one with a `main` or a host's header has any."""
    own, _ = without_own_headers(text)
    return device_part(own) if own != text or _OF_HOST.search(text) else text


def at_sizes_of(choice: Choice, kernel: str) -> Choice:
    """Return the choice of a kernel of the catalogue at the same sizes."""
    other = kernel_named(kernel)
    return replace(
        choice,
        kernel=kernel,
        source=None,
        source_name=None,
        grid_size=choice.grid_size if strides(other) else None,
        combine=choice.combine if choice.combine in other.combines else None,
        parameter=choice.parameter if other.parameter else None,
    )


def _verdict(
    check: Check | Question, runner: _Runner, submission: Submission, gpu: bool, good: bool, missed: bool
) -> Judged:
    """Return the verdict on a check. `good`: the file has passed all checks before, and one at least; `missed`: it has
    missed one."""
    if isinstance(check, Question):
        return answered(check, submission.answers.get(check.name))
    if submission.text is None:
        return Verdict(check.name, False, "There is no .cu file.")
    if (named := _named(check, submission.text)) is not None:
        return named
    timed = isinstance(check.quantity, TimeRatio)
    if timed and not good:
        return Verdict(check.name, None, NOT_TIMED)
    if timed and not gpu:
        return (yield from _estimated(check, runner))
    drawn = None if timed else runner.drawn(check)
    hidden = list(runner.choices(drawn, "emulator")) if drawn else []
    choices = [*runner.choices(check, "gpu" if timed else "emulator"), *hidden]
    if missed and runner.expected(choices) > _MOST_AFTER_A_MISS:
        return Verdict(check.name, False, NOT_RUN)
    last, count = Verdict(check.name, True, ""), 0
    for choice in _in_orders(check, runner, choices):
        found = yield from runner.own(choice)
        if (ended := _ended(check, choice, found)) is not None:
            return ended
        for limit in drawn.limits if drawn and choice in hidden else check.limits:
            kept = yield from _kept(check, limit, choice, found, runner)
            if not kept.passed:
                return kept
            last = kept if choice not in hidden else last
        count += 1
    runs = "1 run" if count == 1 else f"{count} runs"
    sentence = {Status: f"Right in {runs}.", Findings: f"No hazard in {runs}."}.get(type(check.quantity))
    return replace(last, sentence=sentence or last.sentence)


def _named(check: Check, text: str) -> Verdict | None:
    """Return the verdict on a file that has a word that the check forbids, outside of comments, or a name that begins
    with the word and an underscore, such as atomicAdd_block; or that could have one, as it pastes names together. None:
    it has none."""
    plain = uncommented(text) if check.without else ""
    for word in check.without:
        # A line may end inside of a name.
        spliced = r"(?:\\\r?\n)*".join(map(re.escape, word))
        if found := re.search(rf"\b{spliced}(?:_\w*)?\b", plain):
            name = re.sub(r"\\\r?\n", "", found[0])
            return Verdict(check.name, False, f"The file has `{name}`. {check.advice}", _line(plain, found))
    if found := _PASTED.search(plain):
        said = f"The file pastes names together by `{found[0]}`: write them out, so that they can be read."
        return Verdict(check.name, False, f"{said} {check.advice}", _line(plain, found))
    return None


def _line(text: str, found: re.Match[str]) -> int:
    return text.count("\n", 0, found.start()) + 1


def _estimated(check: Check, runner: _Runner) -> Judged:
    """Return the verdict of the time model on a check of times. It decides nothing where the estimate is too close."""
    last = Verdict(check.name, None, NOT_TIMED)
    for asked in runner.choices(check, "emulator"):
        for limit in check.limits:
            choice = at_sizes_of(asked, limit.against)
            n = size_for((settle(choice), settle(replace(asked, source=None, source_name=None)))) or asked.n
            known_already = known(settle(replace(choice, n=n)), "")
            other = known_already or (yield Estimation(replace(choice, n=n)))
            own = yield Estimation(replace(asked, n=n))
            assert isinstance(own, Estimate) and isinstance(other, Estimate)
            if own.time_us is None or other.time_us is None:
                return Verdict(check.name, None, f"Not estimated: {(own if own.time_us is None else other).reason}")
            last = _compared(check, limit, replace(asked, n=n), own, other.time_us / own.time_us)
            if not last.passed:
                return last
    return last


def _compared(check: Check, limit: Limit, choice: Choice, own: Estimate, ratio: float) -> Verdict:
    bound = limit.expected
    assert isinstance(bound, int | float) and own.time_us is not None
    said = (
        f"{_where(check, choice)}: estimated {own.time_us:,.1f} µs on the {own.gpu}, {ratio:.2f} times as fast as "
        f"{limit.against}, by a model and not measured"
    )
    if ratio >= bound:
        return Verdict(check.name, True, f"{said}.", None, ratio, bound)
    needed = f"{said} ({limit.relation} {bound:g} times needed)."
    if ratio >= CLOSE * bound:
        return Verdict(check.name, None, f"{needed} That is too close to decide without a GPU.", None, ratio, bound)
    return Verdict(check.name, False, f"{needed} {check.advice}", own.line, ratio, bound)


def _in_orders(check: Check, runner: _Runner, usual: Sequence[Choice]) -> Iterator[Choice]:
    """Return the choices of a check; for an answer without hazards, one of each type in other orders too."""
    yield from usual
    if isinstance(check.quantity, Status) and not runner.hazardous and all(one.schedule is None for one in usual):
        for dtype in dict.fromkeys(one.dtype for one in usual):
            of_type = [one for one in usual if one.dtype == dtype]
            again = of_type[(len(of_type) - 1) // 2]
            for order in orders_of(again) if runner.listed else ORDERS:
                yield replace(_turns(again, of_type) if order.startswith("waves") else again, schedule=order)


def _turns(again: Choice, usual: Sequence[Choice]) -> Choice:
    """Return the choice for blocks that take turns: `again`, or the largest one with few blocks."""
    few = [one for one in usual if _blocks(one) <= _MOST_TURNS]
    return again if again in few or not few else max(few, key=_blocks)


def _blocks(choice: Choice) -> int:
    return -(-choice.n // choice.block_size)


def _threads(choice: Choice) -> int:
    """Return N, rounded up to whole blocks: with N = 1 a whole block runs, or a whole grid of a given size."""
    return max(1, _blocks(choice), choice.grid_size or 0) * choice.block_size


def _ended(check: Check, choice: Choice, found: Measurement) -> Verdict | None:
    """Return the verdict on a run whose end leaves nothing to judge; None: there is something to judge."""
    if found.status in ("ok", "hazard") or (found.status == "wrong" and isinstance(check.quantity, Findings)):
        return None
    if found.status == "wrong" and isinstance(check.quantity, Counted):
        return Verdict(check.name, False, f"{_where(check, choice)}: The answer is wrong, so its counts say nothing.")
    reason = found.reason or f"The run ended: {found.status}."
    line = found.findings[0].line if found.findings else found.line
    if found.status not in _ENDS_ALL:
        advice = f" {check.advice}" if isinstance(check.quantity, Status) else ""
        reason = f"{_where(check, choice)}: {reason}{advice}"
    return Verdict(check.name, False, reason, line)


def _kept(check: Check, limit: Limit, choice: Choice, found: Measurement, runner: _Runner) -> Judged:
    """Return whether one run keeps to one limit."""
    measurements, expected = [found], limit.expected
    if limit.against:
        beside = yield from runner.beside(choice, limit.against)
        if isinstance(check.quantity, TimeRatio):
            measurements = [beside, found]
        elif isinstance(check.quantity, Counted):
            expected = limit.times * counted(check.quantity, beside) if beside.counts else 0.0
    claim = Claim(check.name, "", "", check.aim, "", check.quantity, limit.relation, expected or 0)
    made = decided(claim, measurements)
    if made is None:
        return Verdict(check.name, None, f"Not timed: {measurements[0].reason or 'this GPU gave no time.'}")
    hazards = check.quantity.of(found) if isinstance(check.quantity, Findings) else ()
    line = hazards[0].line if hazards else None
    bound = None if isinstance(expected, tuple) else expected
    return Verdict(check.name, made.holds, _sentence(check, limit, made, choice, bound), line, made.value, bound)


def _sentence(check: Check, limit: Limit, made: judge.Verdict, choice: Choice, bound: float | None) -> str:
    """Return a sentence with the finding and its place; if it is not enough, also the aim and the advice."""
    value, own = made.value or 0.0, made.measurements[-1]
    match check.quantity:
        case Counted(counter):
            said, wanted = f"{COUNTERS[counter].title}: {value:,.6g}", f"{bound:,.6g}"
            wanted += f" {'allowed' if limit.relation == 'at most' else 'needed'}"
            as_in = "as in" if limit.times == 1 else f"{limit.times:g} times as many as in"
            wanted += f", {as_in} {limit.against}" if limit.against else ""
            if made.holds:
                return f"{said} at {_where(check, choice)}."
            return f"{_where(check, choice)}: {said} ({limit.relation} {wanted}). {check.advice}"
        case TimeRatio():
            said = f"{_where(check, choice)}: {own.time_us:,.1f} µs, {value:.2f} times as fast as {limit.against}"
            return f"{said}." if made.holds else f"{said} ({limit.relation} {bound:g} times needed). {check.advice}"
        case Findings() as counting if hazards := counting.of(own):
            return f"{_where(check, choice)}: {hazards[0].message} {check.advice}"
        case Status() if own.status == "hazard" and not made.holds:
            return f"{_where(check, choice)}: {own.reason} {check.advice}"
    return ""


def _where(check: Check, choice: Choice) -> str:
    """Return the sizes of a run, its type if the check has several, and the macro of the kernel's parameter."""
    entry = KERNELS.get(choice.kernel)  # None for a sheet's own launch
    parts = [f"N = {size_text(choice.n)}", f"block size {choice.block_size}"]
    parts += [f"grid size {choice.grid_size:,}"] if choice.grid_size else []
    parts += [choice.dtype] if len(check.runs.dtype) > 1 else []
    if entry and entry.parameter and choice.parameter is not None:
        parts += [f"{entry.parameter.name} = {choice.parameter}"]
    parts += [choice.schedule] if choice.schedule else []
    return ", ".join(parts)

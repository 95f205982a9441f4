"""One launch of a draft, the text of a reader's own kernel: its answer, its counts, and marks at its lines.

prepare(draft, n, trial) -> the compiled kernel and its launch

check_launch(draft, n, schedule, ...) -> Checked: the launch on the emulator; the record holds any failure
"""

from __future__ import annotations

import re
from collections.abc import Mapping, Sequence
from dataclasses import dataclass, replace
from math import prod

import numpy as np

from engine.backends.emulator.backend import DEVICE, SECONDS
from engine.backends.emulator.watching.races.findings import STARTS_UNDEFINED
from engine.backends.measure import SHOWN, failed, verdict, with_elements
from engine.backends.restored import changed, is_const
from engine.lab.arguments import Argument, array_names
from engine.lab.kernels import KernelRun, OwnKernel, kernel
from engine.lab.marks import Mark, error_marks, finding_marks, warning_marks
from engine.lab.references import reference_named
from engine.lab.setups import Formula, Launching, Right, Setup, check_right, launching, too_large_part
from engine.lab.shared_gpu import NOT_TRIED, why_barred
from engine.lab.signatures import bare, kernels_in
from engine.lab.top_level import declarations
from engine.lab.trials import fitting, trial_of
from engine.machine.environment import environment
from engine.records import (
    Array,
    Check,
    Choice,
    CompileError,
    Counts,
    Finding,
    Measurement,
    NotRunnable,
    RunFailed,
)

FAILURES = (NotRunnable, CompileError, RunFailed)


@dataclass(frozen=True)
class Draft:
    """The text of a reader's own kernel, with its launch. `file_name`: in messages."""

    setup: Setup
    text: str
    file_name: str

    def compiled(self) -> OwnKernel:
        """Return the kernel. NotRunnable, CompileError."""
        return kernel(f"{self.text}\n", self.setup.kernel, called=self.file_name)


@dataclass(frozen=True)
class ArrayShown:
    """An array after a launch: its first elements (None for a value that is not finite), and its number of elements."""

    name: str
    dtype: str
    count: int
    first: tuple[float | int | bool | None, ...]


@dataclass(frozen=True)
class Checked:
    """The result of a draft. `arrays`: those of the user's own launch; without a reference they are the answer.

    `measurement.check` is None if nothing was checked; its status is then "ok" unless there is a finding. `barred`: why
    a shared GPU does not run it; None: it does. `remark`: what another run than the one asked for has shown.
    """

    measurement: Measurement
    marks: tuple[Mark, ...] = ()
    arrays: tuple[ArrayShown, ...] = ()
    remark: str | None = None
    barred: str | None = f"{NOT_TRIED}."


def check_launch(
    draft: Draft, n: int, schedule: str | None, trial: int | None = None, places: int | None = None,
    odd: int | None = None, instead: Mapping[str, Argument] | None = None,
) -> Checked:  # fmt: skip
    """Check a launch in an order. `trial`: of the numbers; None: those that belong to the order. `places`: the trial of
    the parameters that are places, if it is another one. `odd`: where the number stands that decides a search.
    `instead`: arguments in place of the trial's."""
    setup = draft.setup
    asked = Choice(
        setup.kernel, n, 1, device="emulator", schedule=schedule, source=draft.text, source_name=draft.file_name
    )
    warned: tuple[Mark, ...] = ()
    try:
        trial = trial_of(schedule) if trial is None else trial
        made = launching(setup, n, trial)
        asked = sized(asked, made)
        own = draft.compiled()
        warned = warning_marks(own.made.warnings)
        made = fitting(setup, made, own, trial, places, odd)
        if instead:
            named = zip(array_names(own.parameters, None), made.arguments, strict=True)
            made = replace(made, arguments=tuple(instead.get(name, one) for name, one in named))
        run = own.run(
            made.grid, made.block, made.arguments, shared=made.shared, cooperative=setup.cooperative,
            schedule=schedule, seconds=SECONDS,
        )  # fmt: skip
        found = check_answer(setup, run)
    except FAILURES as error:
        return failed_check(asked, error, draft.file_name, warned)
    made_of = _record(asked, own, run, found, _changed_inputs(setup, made, own, run))
    too_large = _too_large(setup, run, found) if found else None
    if too_large:
        measured = made_of.measurement
        made_of = replace(made_of, measurement=replace(measured, reason=f"{measured.reason} {too_large}"))
    return replace(made_of, barred=why_barred(None, [(own.source, own.symbol)]))


def is_right(found: Checked) -> bool:
    """Return whether a launch ended with the right answer, or without a finding if nothing says what is right."""
    return found.measurement.status == "ok" and found.measurement.counters is not None


def prepare(draft: Draft, n: int, trial: int = 0) -> tuple[OwnKernel, Launching]:
    """Return the compiled kernel, and its launch with the arguments that the reference needs."""
    made = launching(draft.setup, n, trial)
    own = draft.compiled()
    return own, fitting(draft.setup, made, own, trial)


def sized(asked: Choice, made: Launching) -> Choice:
    """Return the choice with the threads and blocks of a launch."""
    return replace(asked, block_size=prod(made.block), grid_size=prod(made.grid))


def check_answer(setup: Setup, run: KernelRun) -> Check | None:
    """Compare the answer with what is right of the arguments as they were passed; None if nothing says that."""
    right = setup.right
    if right is None:
        return None
    found = check_right(right, run.passed, run.arrays)
    return with_elements(run.arrays[right.out], found)


def _too_large(setup: Setup, run: KernelRun, found: Check) -> str | None:
    """Return a sentence if a number is wrong for being infinite or no number, and a part of the line is too large for
    the type of the answer."""
    right = setup.right
    if found.ok or np.isfinite(found.result) or not np.isfinite(found.expected) or not isinstance(right, Formula):
        return None
    kind = run.arrays[right.out].dtype
    part = too_large_part(right, run.passed, kind)
    return part and f"`{part}` is too large for a {kind} in this run: the kernel has to do without it."


def _changed_inputs(setup: Setup, made: Launching, own: OwnKernel, run: KernelRun) -> tuple[Finding, ...]:
    """Return a finding for a const array that the reference reads and the kernel has changed."""
    if not isinstance(setup.right, Right):
        return ()
    named = zip(array_names(own.parameters, None), made.arguments, strict=True)
    passed = {name: array for name, array in named if isinstance(array, np.ndarray)}
    given = setup.right.given[: len(reference_named(setup.right.reference).reads)]
    written = ";".join(kernels_in(own.text)[bare(own.name)].written)
    return changed(passed, run.arrays, [name for name in given if name in passed and is_const(name, written)])


_UNSET = "is used before its value is set"  # the compiler's words


def _unset_variables(own: OwnKernel, found: Sequence[Finding]) -> tuple[Finding, ...]:
    """Return a finding for each line of the kernel where the compiler sees a variable that is not set, unless the run
    has found one: the compiler may drop all that is computed from it, so that the run cannot."""
    kind = "uninitialised-variable"
    if any(one.kind == kind for one in found):
        return ()
    spans = [one for one in declarations(own.text) if one.body and bare(own.name) in one.words]
    lines = {line for one in spans for line in range(own.text.count("\n", 0, one.start) + 1,
                                                     own.text.count("\n", 0, one.end) + 2)}  # fmt: skip
    unset = {one.line: re.search(r'"(\w+)"', one.message) for one in own.made.warnings if _UNSET in one.message}
    return tuple(
        Finding(kind, line, None, f"Line {line}: `{name[1]}` {_UNSET}; {STARTS_UNDEFINED}")
        for line, name in unset.items() if name and line in lines
    )  # fmt: skip


def _record(
    asked: Choice, own: OwnKernel, run: KernelRun, found: Check | None, changed_inputs: Sequence[Finding]
) -> Checked:
    unset = _unset_variables(own, run.findings)
    findings = (*run.findings, *changed_inputs, *unset)
    status, reason = verdict(found, findings) if found else ("hazard" if findings else "ok", None)
    if found is None and findings:
        reason = findings[0].message
    measurement = Measurement(
        asked,
        DEVICE,
        status,
        reason,
        grid_size=asked.grid_size,
        check=found,
        counts=Counts(run.counters, run.lines),
        findings=findings,
        printed=run.printed,
        environment=environment(),
    )
    told = {one.line for one in unset}
    warnings = [one for one in own.made.warnings if one.line not in told or _UNSET not in one.message]
    marks = (*warning_marks(warnings), *finding_marks(findings))
    return Checked(measurement, marks, tuple(_shown(name, array) for name, array in run.arrays.items()))


def failed_check(asked: Choice, error: Exception, file_name: str, warned: Sequence[Mark] = ()) -> Checked:
    """Return the record of a check that ended with an error, with a mark at its line. `warned`: the compiler's warnings
    of a text that compiles; `i >= 0` of an unsigned i may be the reason."""
    measurement = failed(asked, error)
    marks = finding_marks(measurement.findings)
    if isinstance(error, CompileError):
        marks = error_marks(file_name, error, str(asked.source or ""))
    if not marks and measurement.line and not isinstance(error, NotRunnable):
        marks = (Mark(measurement.line, "finding", str(error)),)
    return Checked(measurement, (*warned, *marks), barred=why_barred(error, ()))


def _shown(name: str, array: Array) -> ArrayShown:
    first = array.ravel()[:SHOWN]
    plain = first.dtype.kind in "biuf"
    values = tuple(value if np.isfinite(value) else None for value in first.tolist()) if plain else ()
    return ArrayShown(name, str(array.dtype), int(array.size), values)

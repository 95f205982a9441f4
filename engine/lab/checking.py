"""One check of a draft, in a worker: its answer, its counts, and marks at its lines. The record holds any failure.

check_rung(choice) -> Checked: a rung's own plan and check, with the draft as its source

check_own(setup, n, text, ...) -> Checked: the user's own launch, against a named reference or none

time_own(setup, n, text, ...) -> Measurement: the same on a GPU
"""

from __future__ import annotations

from collections.abc import Iterable, Iterator, Sequence
from contextlib import contextmanager
from dataclasses import dataclass, replace
from math import prod
from typing import Any

import numpy as np

from engine.backends.backend import backend_named
from engine.backends.emulator.backend import DEVICE, SECONDS
from engine.backends.emulator.instructions.dispatch import not_emulated
from engine.backends.emulator.launch import explained
from engine.backends.emulator.loading import load
from engine.backends.measure import SHOWN, failed, measure, verdict, with_first_elements
from engine.compile.nvrtc import EMULATED_ARCHITECTURE, compile_with_log
from engine.lab.arguments import Argument, array_names
from engine.lab.kernels import KernelRun, OwnKernel, Sizes, kernel
from engine.lab.marks import Mark, compiler_marks, finding_marks, warning_marks
from engine.lab.references import check_against as checked_against
from engine.lab.references import reference_named
from engine.lab.setups import Launching, Setup, launching
from engine.machine.environment import environment
from engine.plan import plan
from engine.records import (
    Array,
    Check,
    Choice,
    CompileError,
    Counts,
    Launch,
    Measurement,
    NotRunnable,
    Progress,
    RunFailed,
    Settled,
    Source,
)

NOT_TRIED = "A shared GPU runs what ended well on the emulator, and this did not"


def try_on_emulator(kernel: OwnKernel, grid: Sizes, block: Sizes, args: Sequence[Argument], **more: Any) -> KernelRun:
    """Launch on the emulator; `more` as of `Kernel.run`.

    NotRunnable: the launch met a wild access or a deadlock, took too long, or uses an unsupported instruction.
    """
    with _ended_well():
        check_known([(kernel.source, kernel.symbol)])
        return kernel.run(grid, block, args, **more)


def why_barred(ended: Exception | None, launches: Iterable[tuple[Source, str]]) -> str | None:
    """Return why a shared GPU refuses to run this; None: it runs it.

    `ended`: the exception that ended the emulated run, None if it ended well; `launches`: the source and kernel of
    each.
    """
    try:
        with _ended_well():
            if ended is not None:
                raise ended
            check_known(launches)
    except (NotRunnable, CompileError) as refused:
        return str(refused)
    return None


def check_known(launches: Iterable[tuple[Source, str]]) -> None:
    """Raise NotRunnable for a kernel with an instruction, executed or not, that the emulator does not support."""
    for source, symbol in launches:
        with explained(source.name):
            for item in not_emulated(load(source, symbol)):
                raise NotRunnable(
                    f"{source.name}, line {item.line}: the emulator does not know {item.opcode}, and a shared GPU runs "
                    "only what it has tried."
                )


@contextmanager
def _ended_well() -> Iterator[None]:
    try:
        yield
    except RunFailed as error:
        raise NotRunnable(f"{NOT_TRIED}: {error}") from None


_FAILURES = (NotRunnable, CompileError, RunFailed)


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
    a shared GPU does not run it; None: it does.
    """

    measurement: Measurement
    marks: tuple[Mark, ...] = ()
    arrays: tuple[ArrayShown, ...] = ()
    barred: str | None = f"{NOT_TRIED}."


def check_rung(choice: Settled, progress: Progress | None = None) -> Checked:
    """Run `measure` and add the compiler's warnings and the marks. `choice` has the draft as its source."""
    name = choice.source_name or choice.kernel
    try:
        measurement = measure(choice, progress)
        launches = [step for step in plan(choice).steps if isinstance(step, Launch)]
    except _FAILURES as error:
        return _failed(choice, error, name)
    sources = dict.fromkeys(step.source for step in launches)
    logs = "\n".join(compile_with_log(source, EMULATED_ARCHITECTURE).warnings for source in sources)
    refused = why_barred(None, [(step.source, step.kernel) for step in launches])
    return Checked(measurement, (*compiler_marks(name, logs), *finding_marks(measurement.findings)), barred=refused)


def check_own(setup: Setup, n: int, text: str, file_name: str, schedule: str | None = None) -> Checked:
    """Launch the kernel that `setup` names, and compare the result with the setup's reference."""
    asked = Choice(setup.kernel, n, 1, device="emulator", schedule=schedule, source=text, source_name=file_name)
    try:
        made = launching(setup, n)
        asked = _sized(asked, made)
        own = kernel(f"{text}\n", setup.kernel, called=file_name)
        run = own.run(made.grid, made.block, made.arguments, shared=made.shared, schedule=schedule, seconds=SECONDS)
        found = _check(setup, made, own, run)
    except _FAILURES as error:
        return _failed(asked, error, file_name)
    return replace(_record(asked, run, found), barred=why_barred(None, [(own.source, own.symbol)]))


def time_own(setup: Setup, n: int, text: str, file_name: str) -> Measurement:
    """Launch on this computer's GPU: check the answer again, and time it unless it is wrong.

    For a launch that was checked on the emulator before. NotRunnable, CompileError, RunFailed.
    """
    made = launching(setup, n)
    asked = _sized(Choice(setup.kernel, n, 1, device="gpu", source=text, source_name=file_name), made)
    own = kernel(f"{text}\n", setup.kernel, called=file_name)
    run = own.run(made.grid, made.block, made.arguments, shared=made.shared, device="gpu")
    found = _check(setup, made, own, run)
    status, reason = verdict(found, ()) if found else ("ok", None)
    right = status == "ok"
    timing = own.time(made.grid, made.block, made.arguments, shared=made.shared) if right else None
    device = backend_named("gpu").describe()
    return Measurement(asked, device, status, reason, None, asked.grid_size, found, timing, environment=environment())


def _sized(asked: Choice, made: Launching) -> Choice:
    return replace(asked, block_size=prod(made.block), grid_size=prod(made.grid))


def _check(setup: Setup, made: Launching, own: OwnKernel, run: KernelRun) -> Check | None:
    """Compare the answer with the reference of the arrays as they were passed; None without a reference."""
    right = setup.right
    if right is None:
        return None
    passed = dict(zip(array_names(own.parameters, None), made.arguments, strict=True))
    before = {name: argument for name, argument in passed.items() if isinstance(argument, np.ndarray)}
    reads = len(reference_named(right.reference).reads)
    numbers = [_number(word, passed.get(word)) for word in right.given[reads:]]
    found = checked_against(right.reference, before, run.arrays, right.given[:reads], right.out, numbers)
    return with_first_elements(run.arrays[right.out], found)


def _number(word: str, passed: object) -> float:
    """Return a number of a reference: the value passed for a parameter, or the number itself."""
    try:
        return float(passed if isinstance(passed, int | float) else word)
    except ValueError:
        raise NotRunnable(f"{word!r} is neither a number nor a parameter that a number is passed for.") from None


def _record(asked: Choice, run: KernelRun, found: Check | None) -> Checked:
    findings = tuple(run.findings)
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
    marks = (*warning_marks(run.warnings), *finding_marks(findings))
    return Checked(measurement, marks, tuple(_shown(name, array) for name, array in run.arrays.items()))


def _failed(asked: Choice, error: Exception, file_name: str) -> Checked:
    measurement = failed(asked, error)
    line = error.line if isinstance(error, CompileError | RunFailed) else None
    marks = finding_marks(measurement.findings)
    if isinstance(error, CompileError):
        marks = compiler_marks(file_name, error.log)
    if not marks and line:
        marks = (Mark(line, "error" if isinstance(error, CompileError) else "finding", str(error)),)
    return Checked(measurement, marks, barred=why_barred(error, ()))


def _shown(name: str, array: Array) -> ArrayShown:
    first = array.ravel()[:SHOWN]
    plain = first.dtype.kind in "biuf"
    values = tuple(value if np.isfinite(value) else None for value in first.tolist()) if plain else ()
    return ArrayShown(name, str(array.dtype), int(array.size), values)

"""One check of a draft, in a worker: its answer, its counts, and marks at its lines. The record holds any failure.

check_rung(choice) -> Checked: a rung's own plan and check, with the draft as its source

check_own(setup, n, text, ...) -> Checked: the user's own launch, against a named reference or none

estimate_own(setup, n, text, ...) -> Estimate: of its time on a GPU

time_own(setup, n, text, ...) -> Measurement: the same on a GPU

debug_rung(choice, ...), debug_own(setup, n, text, ...) -> Debugger: a recorded block
"""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import replace
from itertools import cycle

from engine.backends.backend import backend_named
from engine.backends.emulator.backend import SECONDS
from engine.backends.measure import measure, verdict
from engine.catalogue import kernel_named, topic_of
from engine.compile.nvrtc import EMULATED_ARCHITECTURE, compile_with_log
from engine.lab.compilation import compilation
from engine.lab.debugger import Debugger
from engine.lab.further_runs import differs, is_missed, repeated_size, run_further, size_in
from engine.lab.marks import Mark, compiler_marks, error_marks, finding_marks, warning_marks
from engine.lab.own_launch import (
    FAILURES,
    Checked,
    Draft,
    check_answer,
    check_launch,
    failed_check,
    is_right,
    prepare,
    sized,
)
from engine.lab.recording import record_rung
from engine.lab.setups import Setup
from engine.lab.shared_gpu import why_barred
from engine.lab.trial_arrays import ORDERS, SEARCHED
from engine.machine.environment import environment
from engine.model.estimate import Estimate
from engine.plan import plan, settle
from engine.records import Choice, CompileError, Launch, Measurement, Progress, Settled

RECORDED_BYTES = 32 << 20  # of a recording for a reader of the dashboard


def check_rung(choice: Settled, progress: Progress | None = None) -> Checked:
    """Run `measure`, and if the draft is right, again in other orders and at sizes that blocks do not divide; add the
    compiler's warnings and the marks. `choice` has the draft as its source."""
    found = _checked_rung(choice, progress)
    if not is_right(found):
        return found
    usual = repeated_size(found, choice.n)
    for order, odd in zip(orders_of(choice), cycle((-1, 1)), strict=False):
        size = size_in(order, usual)
        again = replace(choice, schedule=order, n=size + odd)
        other = _checked_rung(again)
        if other.measurement.status == "refused":  # the kernel has no such size
            again = replace(again, n=size)
            other = _checked_rung(again)
        if is_missed(other) and _checked_rung(replace(again, source=None, source_name=None)).measurement.status == "ok":
            return differs(found, other, again.n, numbers=False)
    return found


def check_own(
    setup: Setup, n: int, text: str, file_name: str, schedule: str | None = None, again: bool = True
) -> Checked:
    """Launch the kernel that `setup` names, and compare the result with the setup's reference. `again`: if it is right,
    launch it with other numbers in other orders, and at sizes that blocks do not divide."""
    draft = Draft(setup, text, file_name)
    found = check_launch(draft, n, schedule)
    if again and schedule is None and found.measurement.status == "deadlock":
        alone = check_launch(draft, n, ORDERS[0])
        return replace(found, remark=RIGHT_SINCE_VOLTA) if is_right(alone) else found
    return run_further(draft, n, found, schedule) if again and is_right(found) else found


RIGHT_SINCE_VOLTA = (
    f"In the order {ORDERS[0]} this launch ends and is right: since Volta the lanes of a warp go on by themselves. On "
    "a GPU up to Pascal it never ends. Choose that order to check it."
)


def orders_of(choice: Choice) -> tuple[str, ...]:
    """Return the other orders in which a kernel of the catalogue is tried: more, if its data depend on the order."""
    usual, other = (
        topic_of(kernel_named(choice.kernel)).input_recipe(replace(choice, schedule=schedule, n=min(choice.n, 1000)))
        for schedule in (None, ORDERS[0])
    )
    return ORDERS if all(other[name][0] is numbers for name, (numbers, _) in usual.items()) else SEARCHED


def _checked_rung(choice: Settled, progress: Progress | None = None) -> Checked:
    name = choice.source_name or choice.kernel
    warned: tuple[Mark, ...] = ()
    try:
        launches = [step for step in plan(choice).steps if isinstance(step, Launch)]
        warned = _warnings_of(launches, name)
        measurement = measure(choice, progress)
    except FAILURES as error:
        return failed_check(choice, error, name, warned)
    refused = why_barred(None, [(step.source, step.kernel) for step in launches])
    return Checked(measurement, (*warned, *finding_marks(measurement.findings)), barred=refused)


def _warnings_of(launches: Sequence[Launch], file_name: str) -> tuple[Mark, ...]:
    """Return the compiler's warnings for the sources of these launches. CompileError: one does not compile."""
    sources = dict.fromkeys(step.source for step in launches)
    logs = "\n".join(compile_with_log(source, EMULATED_ARCHITECTURE).warnings for source in sources)
    return compiler_marks(file_name, logs)


def estimate_own(setup: Setup, n: int, text: str, file_name: str) -> Estimate:
    """Estimate the time of a reader's own launch on the H200. NotRunnable, CompileError, RunFailed."""
    own, made = prepare(Draft(setup, text, file_name), n)
    return own.estimate(made.grid, made.block, made.arguments, shared=made.shared, cooperative=setup.cooperative,
                        seconds=SECONDS)  # fmt: skip


def debug_rung(choice: Settled, block: int, launch: int, element: tuple[str, int] | None) -> Debugger:
    """Record a block of a rung's draft for the debugger, or the block that writes an element last. It may raise."""
    return record_rung(choice, block, launch, element, RECORDED_BYTES)


def debug_own(
    setup: Setup, n: int, text: str, file_name: str, schedule: str | None, block: int, element: tuple[str, int] | None
) -> Debugger:
    """Record a block of a reader's own launch, as `debug_rung` does. It may raise."""
    own, made = prepare(Draft(setup, text, file_name), n)
    return own.record(made.grid, made.block, made.arguments, number=block, element=element, shared=made.shared,
                      cooperative=setup.cooperative, schedule=schedule, seconds=SECONDS,
                      most_bytes=RECORDED_BYTES)  # fmt: skip


def time_own(setup: Setup, n: int, text: str, file_name: str) -> Measurement:
    """Launch on this computer's GPU: check the answer again, and time it unless it is wrong.

    For a launch that was checked on the emulator before. NotRunnable, CompileError, RunFailed.
    """
    own, made = prepare(Draft(setup, text, file_name), n)
    asked = sized(Choice(setup.kernel, n, 1, device="gpu", source=text, source_name=file_name), made)
    sizes, together = (made.grid, made.block, made.arguments), setup.cooperative
    run = own.run(*sizes, shared=made.shared, cooperative=together, device="gpu")
    found = check_answer(setup, run)
    status, reason = verdict(found, ()) if found else ("ok", None)
    right = status == "ok"
    timing = own.time(*sizes, shared=made.shared, cooperative=together) if right else None
    device = backend_named("gpu").describe()
    return Measurement(asked, device, status, reason, None, asked.grid_size, found, timing, environment=environment())


def compiled_marks(text: str, file_name: str, choice: Choice | None) -> tuple[Mark, ...]:
    """Compile a text without running it, and return the compiler's errors and warnings.

    `choice`: of the rung in whose place the text stands; None: a kernel of one's own. NotRunnable: there is no such
    choice, or the text cannot be read.
    """
    try:
        if choice is None:
            return warning_marks(compilation(file_name, f"{text}\n", every=True).warnings)
        made = plan(settle(replace(choice, source=text, source_name=file_name)))
        return _warnings_of([step for step in made.steps if isinstance(step, Launch)], file_name)
    except CompileError as error:
        return error_marks(file_name, error, text) or (Mark(1, "error", str(error)),)

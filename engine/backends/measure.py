"""Check the answer, then time it: Settled -> Measurement. No number leaves here without a verified answer."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import replace

import numpy as np

from engine.backends.backend import backend_named, backend_of, quiet
from engine.catalogue import kernel_named, topic_of
from engine.machine.environment import environment
from engine.machine.rates import peak_of, rates_of
from engine.plan import own_device, plan
from engine.records import (
    Array,
    Check,
    Choice,
    CompileError,
    Finding,
    Measurement,
    NotRunnable,
    Plan,
    Progress,
    Rates,
    Run,
    RunFailed,
    Settled,
    Status,
    Timing,
    status_of,
)
from engine.records.words import wrong_text

# The longest run in seconds before its worker is replaced. A lecture waits no longer, and a GPU needs the rest to
# compile, feed 2^30 elements and check them. The emulator gives up earlier, because it can name the line.
DEADLINES_S = {"gpu": 60.0, "emulator": 60.0}
SHOWN = 32  # elements of an answer that a record keeps


def measure(choice: Settled, progress: Progress | None = None) -> Measurement:
    """Return a record that was checked and, on a GPU, timed. NotRunnable, CompileError or RunFailed; see `failed`."""
    say = progress or quiet
    made = plan(choice)
    backend = backend_of(made)
    run = backend.run(made, say)
    say(0.4, "Checking the answer")
    checked = topic_of(choice.kernel).check(made, run.output)
    timing = None
    if checked.ok and not run.findings:  # on a GPU one says that the next launch would be wrong
        say(0.5, "Timing")
        timing = backend.time(made, say)
    if timing is not None and not backend.times:  # beside the emulator, the CPU's time is a remark and not a figure
        run = replace(run, badges=(f"{run.badges[0]}, {timing.time_us:,.0f} µs", *run.badges[1:]))
        run = replace(run, notes={**run.notes, "cpu_time_us": timing.time_us})
        timing = None
    return _record(made, run, checked, timing)


def failed(choice: Choice, error: Exception) -> Measurement:
    """Return the record of a run that gave no answer: its status and one sentence that says why."""
    log = error.log if isinstance(error, CompileError) else None
    findings: tuple[Finding, ...] = ()
    if isinstance(error, RunFailed) and error.finding:
        findings = (Finding(error.finding, error.line, None, str(error)),)
    kind = choice.device if choice.device in DEADLINES_S else own_device()
    line = error.line if isinstance(error, CompileError | NotRunnable | RunFailed) else None
    return Measurement(choice, {"kind": kind, "name": None}, status_of(error), str(error), log, choice.grid_size,
                       findings=findings, line=line)  # fmt: skip


def verdict(checked: Check, findings: Sequence[Finding]) -> tuple[Status, str | None]:
    """Return the status of a run with this answer and these findings, and a sentence that says why it is not "ok"."""
    if not checked.ok:
        return "wrong", f"The answer is wrong: {wrong_text(checked)}."
    if findings:
        return "hazard", f"The answer is right by luck: {findings[0].message}"
    return "ok", None


def _record(made: Plan, run: Run, checked: Check, timing: Timing | None) -> Measurement:
    choice, topic = made.choice, topic_of(made.choice.kernel)
    status, reason = verdict(checked, run.findings)
    device = backend_named(choice.device).describe()
    rates = Rates()
    if timing:
        # A rung on the CPU uses no part of the GPU's peak.
        beside = "cpu" in run.notes or not kernel_named(choice.kernel).has_peak
        peak = None if beside else peak_of(device, topic.metric, choice.dtype)
        rates = rates_of(made.bytes_moved, made.flops, timing.time_us, topic.metric, peak)
    about = {"check": checked.note, "data": topic.data_note, **run.notes, **(timing.notes if timing else {})}
    return Measurement(
        choice,
        device,
        status,
        reason,
        grid_size=made.grid_size,
        check=with_elements(run.output, checked),
        timing=timing,
        rates=rates,
        counts=run.counts,
        findings=run.findings,
        printed=run.printed,
        badges=(*run.badges, *(timing.badges if timing else ())),
        environment={**environment(), **about},
    )


def with_elements(output: Array, checked: Check) -> Check:
    """Return the check with SHOWN elements of an array answer, from element `checked.begin` on; None for an element
    that is not finite."""
    if output.size < 2:
        return checked
    if checked.count not in (None, output.size):  # it compared other elements than these
        checked = replace(checked, begin=0, at=None)
    begin, end = checked.begin, checked.begin + SHOWN
    shown = tuple(value if np.isfinite(value) else None for value in output.ravel()[begin:end].tolist())
    return replace(
        checked,
        answer=shown,
        count=int(output.size),
        first=None if checked.first is None else checked.first[:SHOWN],
        off=tuple(place for place in checked.off if place < end),
    )

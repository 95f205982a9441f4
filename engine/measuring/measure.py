"""Check the answer, then time it: Choice -> Measurement. No number leaves here without a verified answer."""

from __future__ import annotations

from dataclasses import asdict, replace
from typing import Any

import numpy as np

from engine.backends import cpu
from engine.catalogue import data, spelled_out, topic_of
from engine.host.devices import gpus, resolve
from engine.host.environment import environment
from engine.measuring.device import device
from engine.plan import plan as plan_of
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
    Run,
    RunFailed,
    Status,
    Timing,
)

# How long one run may take before its worker is replaced, in seconds: a lecture's patience, and a margin for a GPU
# that compiles, feeds 2^30 elements and checks them. The emulator gives up before that, as it can name the line.
DEADLINES_S = {"gpu": 60.0, "emulator": 45.0}
EMULATOR_SECONDS = 30.0
SHOWN = 32  # elements of an answer that a record keeps: enough to see what it is


def measure(choice: Choice, progress: Progress | None = None, schedule: str | None = None) -> Measurement:
    """One checked and, on a GPU, timed record. Raises NotRunnable, CompileError or RunFailed; see `failed`.

    `schedule`: in which order the emulator runs lanes and blocks, "lockstep", "independent:SEED" or "waves:BLOCKS".
    """
    say = progress or (lambda fraction, text: None)
    choice = spelled_out(resolve(choice))
    plan = plan_of(choice)
    if schedule is not None and choice.device != "emulator":
        raise NotRunnable("A GPU chooses the order of its lanes and blocks itself; choose the emulator for a schedule.")
    if cpu.host_step(plan):
        return _on_cpu(plan, say)
    if choice.device == "emulator":
        return _emulated(plan, say, schedule)
    return _on_gpu(plan, say)


def failed(choice: Choice, error: Exception) -> Measurement:
    """The record of a run that gave no answer: its status and the sentence that says why."""
    status: Status = "crashed"
    log = None
    findings: tuple[dict[str, Any], ...] = ()
    if isinstance(error, NotRunnable):
        status = "refused"
    elif isinstance(error, CompileError):
        status, log = "compile-error", error.log
    elif isinstance(error, RunFailed):
        status = error.status
        if error.finding:
            findings = (asdict(Finding(error.finding, error.line, None, str(error))),)
    kind = choice.device if choice.device in ("gpu", "emulator") else ("gpu" if gpus() else "emulator")
    return Measurement(
        kernel=choice.kernel,
        n=choice.n,
        block_size=choice.block_size,
        grid_size=choice.grid_size,
        dtype=choice.dtype,
        cache=choice.cache,
        combine=choice.combine,
        parameter=choice.parameter,
        grid_asked=choice.grid_size,
        device={"kind": kind, "name": None},
        status=status,
        reason=str(error),
        log=log,
        findings=findings,
    )


def inputs_of(choice: Choice) -> dict[str, Array]:
    """The input buffers of a choice on the host, whole."""
    recipe = topic_of(choice.kernel).input_recipe(choice)
    return {name: data.repeated(numbers, count) for name, (numbers, count) in recipe.items()}


def _emulated(plan: Plan, say: Progress, schedule: str | None) -> Measurement:
    from engine.backends import emulator as ptx
    from engine.backends.emulator.state.schedule import parse_schedule, schedule_line

    topic = topic_of(plan.choice.kernel)
    order = parse_schedule(schedule)
    say(0.0, "Preparing the numbers")
    run = ptx.run(plan, inputs_of(plan.choice), progress=say, schedule=order, seconds=EMULATOR_SECONDS)
    say(1.0, "Checking the answer")
    record = _record(plan, run, topic.check(plan, run.output), None)
    if schedule is None:
        return record
    return replace(
        record,
        badges=(*record.badges, f"schedule: {schedule_line(order)}"),
        environment={**record.environment, "schedule": schedule},
    )


def _on_cpu(plan: Plan, say: Progress) -> Measurement:
    """A scalar rung: timed by the host's clock. Beside an emulator, which has no times, its time is only a note."""
    say(0.0, "Running on the CPU")
    run = cpu.run(plan)
    checked = topic_of(plan.choice.kernel).check(plan, run.output)
    timed = cpu.time_plan(plan, say) if checked.ok else None
    emulated = plan.choice.device == "emulator"
    record = _record(plan, run, checked, None if emulated else timed)
    badge = f"on the CPU: {cpu.name()}, one thread"
    if emulated and timed:
        badge += f", {timed.time_us:,.0f} µs"
    noted = {**record.environment, **cpu.notes(), "cpu_time_us": timed.time_us if timed else None}
    return replace(record, badges=(badge, *record.badges), environment=noted)


def _on_gpu(plan: Plan, say: Progress) -> Measurement:
    from engine.backends import gpu
    from engine.measuring import timing

    topic = topic_of(plan.choice.kernel)
    recipe = topic.input_recipe(plan.choice)
    say(0.0, "Running on the GPU")
    run = gpu.run(plan, recipe, progress=say)
    say(0.4, "Checking the answer")
    checked = topic.check(plan, run.output)
    timed = None
    if checked.ok:
        say(0.5, "Timing")
        timed = timing.time_plan(gpu.prepare(plan, recipe), plan.choice.cache, peers=topic.peers, progress=say)
    return _record(plan, run, checked, timed)


def _record(plan: Plan, run: Run, checked: Check, timed: Timing | None) -> Measurement:
    choice = plan.choice
    topic = topic_of(choice.kernel)
    status: Status = "ok"
    reason = None
    if not checked.ok:
        status = "wrong"
        reason = f"The answer is wrong: {_number(checked.result)} instead of {_number(checked.expected)}."
    elif run.findings:
        status = "hazard"
        reason = f"The answer is right this time, but not by right: {run.findings[0].message}"
    described = device(choice.device)
    bandwidth = gflops = percent = None
    if timed:
        bandwidth = plan.bytes_moved / timed.time_us / 1e3
        gflops = plan.flops / timed.time_us / 1e3
        reached = bandwidth if topic.metric == "bandwidth_gb_s" else gflops
        peak = described.get("peak_bandwidth_gb_s" if topic.metric == "bandwidth_gb_s" else "peak_gflop_s")
        if topic.metric == "gflop_s" and choice.dtype != "float32":
            peak = None  # the peak is that of the FP32 units
        if cpu.host_step(plan):
            peak = None  # and the GPU's, not the CPU's
        percent = 100 * reached / peak if peak else None
    return Measurement(
        kernel=choice.kernel,
        n=choice.n,
        block_size=choice.block_size,
        grid_size=plan.grid_size,
        dtype=choice.dtype,
        cache=choice.cache,
        combine=choice.combine,
        parameter=choice.parameter,
        grid_asked=choice.grid_size,
        device=described,
        status=status,
        reason=reason,
        result=_finite(checked.result),
        expected=_finite(checked.expected),
        error=_finite(checked.error),
        error_bound=_finite(checked.error_bound),
        times_us=timed.times_us if timed else None,
        time_us=timed.time_us if timed else None,
        low_us=timed.low_us if timed else None,
        high_us=timed.high_us if timed else None,
        floor_us=timed.floor_us if timed else None,
        clock=timed.clock if timed else None,
        bandwidth_gb_s=bandwidth,
        gflop_s=gflops,
        percent_of_peak=percent,
        peers={name: _peer(peer) for name, peer in timed.peers.items()} if timed else {},
        badges=timed.badges if timed else (),
        counters=dict(run.counters) if run.counters is not None else None,
        lines=tuple({"line": line.line, "text": line.text, **line.counters} for line in run.lines),
        findings=tuple(asdict(finding) for finding in run.findings),
        printed=run.printed,
        **first_elements(run.output, checked),
        environment={**environment(), "check": checked.note, "data": topic.data_note, **(timed.notes if timed else {})},
    )


def first_elements(output: Array, checked: Check) -> dict[str, Any]:
    """The fields of a record for an answer that is an array: its first SHOWN elements beside the reference's.

    Elements that are no finite numbers become None. A single number has none of these fields.
    """
    if output.size < 2:
        return {}
    first = output.ravel()[:SHOWN]
    return {
        "answer": tuple(_finite(value) for value in first.tolist()),
        "answer_count": int(output.size),
        "answer_expected": None if checked.first is None else checked.first[:SHOWN],
        "answer_off": tuple(place for place in checked.off if place < SHOWN),
    }


def _peer(peer: Timing) -> dict[str, Any]:
    return {
        "time_us": peer.time_us,
        "low_us": peer.low_us,
        "high_us": peer.high_us,
        "ratio": peer.ratio,
        "ratio_low": peer.ratio_low,
        "ratio_high": peer.ratio_high,
        **peer.notes,
    }


def _finite(value: float | int) -> float | int | None:
    """JSON has no NaN and no infinity: such a value is reported by the status and stands as null."""
    return value if np.isfinite(value) else None


def _number(value: float | int) -> str:
    return f"{value:,}" if isinstance(value, int) else f"{value:.9g}"

"""Record the whole catalogue on this GPU, so that a machine without one can show its times."""

from __future__ import annotations

import re
from collections import Counter
from collections.abc import Iterator
from dataclasses import dataclass
from pathlib import Path
from time import monotonic
from typing import Any

from engine import cpu
from engine.catalogue import TOPICS, Kernel, Topic
from engine.environment import device, environment, has_gpu
from engine.plan import plan as plan_of
from engine.recorded import FOLDER, Row, Rows, kept, load, write
from engine.records import (
    C_TYPES,
    CACHE_STATES,
    Check,
    Choice,
    CompileError,
    NotRunnable,
    Plan,
    Progress,
    RunFailed,
    Timing,
)

__all__ = ["load", "record"]

BUDGET_S = 520.0  # one recording must fit a short loan of a GPU
SAMPLING_MS = 8.0  # a row; 15 samples at least
SLOW_US = 200e3  # from here on the state of the cache does not matter: only the first state is recorded
Speeds = dict[tuple[Any, ...], float]  # microseconds per operation, at the last size


@dataclass(frozen=True)
class Pass:
    """One part of a recording; the parts follow each other by how much they are missed. A row predicted to take longer
    than `limit_s` for one run is left out."""

    topic: Topic
    dtypes: tuple[str, ...]
    sizes: tuple[int, ...]
    every_combine: bool = False
    caches: tuple[str, ...] = CACHE_STATES
    block_sizes: tuple[int, ...] | None = None
    limit_s: float = 0.4


def record(
    quick: bool = False,
    progress: Progress | None = None,
    folder: Path = FOLDER,
    budget_s: float = BUDGET_S,
) -> Path:
    """Measure the catalogue on this GPU and write `folder`/<gpu-name>.json.gz; returns its path.

    A file of the same GPU and commit is completed, not repeated. `quick`: one block size and a few sizes, in a file of
    its own. Stops after `budget_s` seconds. NotRunnable without a GPU.
    """
    if not has_gpu():
        raise NotRunnable("Recording needs a GPU that CUDA can use; `python -m engine doctor` says what is missing.")
    say = progress or (lambda fraction, text: None)
    started = monotonic()
    described, around = device("gpu"), environment()
    path = folder / f"{re.sub(r'[^a-z0-9]+', '-', described['name'].lower())}{'-quick' if quick else ''}.json.gz"
    rows = kept(path, around.get("commit"))
    wanted = list(_wanted(quick))
    left_out: dict[str, int] = Counter(
        f"{part.topic.title.lower()} in {choice.dtype}: only {', '.join(part.caches)}"
        for part, choice in wanted
        if part.caches != CACHE_STATES
    )
    speeds: Speeds = {}
    said = 0.0
    for number, (part, choice) in enumerate(wanted):
        spent = monotonic() - started
        if spent > budget_s:
            why = f"the time allowed ({budget_s:.0f} s) ran out at {choice.dtype} n = {choice.n:,}"
            left_out[why] = len(wanted) - number
            break
        if spent > said + 1:
            said = spent
            say(min(1.0, spent / budget_s), f"{len(rows):,} rows; {choice.kernel} {choice.dtype} n {choice.n:,}")
        try:
            if slow := _too_slow(part, choice, speeds):
                left_out[slow] = left_out.get(slow, 0) + 1
            else:
                missing = tuple(cache for cache in part.caches if _key_of(choice, cache) not in rows)
                rows |= _row_set(part, choice, missing, speeds)
        except RunFailed as failed:
            # The GPU's context is lost with it: what was measured so far is kept, and completed by the next recording.
            left_out[f"{choice.kernel} failed: {failed}"] = len(wanted) - number
            break
    write(path, described, around, rows, left_out)
    say(1.0, f"{len(rows):,} rows")
    return path


def _wanted(quick: bool) -> Iterator[tuple[Pass, Choice]]:
    reduction = TOPICS["reduction"]
    powers = tuple(2**power for power in range(10, 31))
    others = [topic for topic in TOPICS.values() if topic is not reduction]
    passes = [
        Pass(reduction, ("int32",), powers),
        *(Pass(topic, tuple(C_TYPES), topic.sizes, every_combine=True, limit_s=1.5) for topic in others),
        Pass(reduction, ("float32", "float64"), reduction.sizes, caches=CACHE_STATES[:1]),
        Pass(reduction, ("int32",), reduction.sizes, every_combine=True),
    ]
    if quick:
        passes = [
            Pass(topic, (topic.kernels[0].dtypes[0],), topic.sizes[1::3], caches=CACHE_STATES[:1],
                 block_sizes=(topic.default_block_size,))
            for topic in TOPICS.values()
        ]  # fmt: skip
    for part in passes:
        for dtype in part.dtypes:
            for n in part.sizes:
                for kernel in part.topic.kernels:
                    if dtype in kernel.dtypes:
                        yield from ((part, choice) for choice in _choices(part, kernel, dtype, n))


def _choices(part: Pass, kernel: Kernel, dtype: str, n: int) -> Iterator[Choice]:
    for combine in kernel.combines if part.every_combine else kernel.combines[:1]:
        for block_size in kernel.block_sizes:
            if part.block_sizes is None or block_size in part.block_sizes:
                yield Choice(kernel.name, n, block_size, dtype=dtype, device="gpu", combine=combine)


def _key_of(choice: Choice, cache: str) -> tuple[Any, ...]:
    return (choice.kernel, choice.combine, choice.parameter, choice.n, choice.block_size, choice.dtype, cache)


def _speed_key(choice: Choice) -> tuple[Any, ...]:
    return (choice.kernel, choice.combine, choice.parameter, choice.block_size, choice.dtype)


def _too_slow(part: Pass, choice: Choice, speeds: Speeds) -> str | None:
    """Why a choice is left out: at the speed of the size before, one run would take too long."""
    try:
        predicted_us = plan_of(choice).flops * speeds.get(_speed_key(choice), 0.0)
    except NotRunnable:
        return None
    if predicted_us <= part.limit_s * 1e6:
        return None
    return f"{choice.kernel} at large n: one run would take longer than {part.limit_s} s"


def _row_set(part: Pass, choice: Choice, caches: tuple[str, ...], speeds: Speeds) -> Rows:
    """Check the answer once and time it in every state of the cache. Raises RunFailed."""
    if not caches:
        return {}
    try:
        plan = plan_of(choice)
        found = _measured(part.topic, plan, caches)
    except (NotRunnable, CompileError) as error:
        status = "refused" if isinstance(error, NotRunnable) else "compile-error"
        found = {cache: {"status": status, "reason": str(error)} for cache in caches}
    else:
        times = [row["time_us"] for row in found.values() if row.get("time_us")]
        if times:
            speeds[_speed_key(choice)] = times[0] / max(1, plan.flops)
    return {_key_of(choice, cache): row for cache, row in found.items()}


def _measured(topic: Topic, plan: Plan, caches: tuple[str, ...]) -> dict[str, Row]:
    from engine import gpu, timing

    row: Row = {"grid_size": plan.grid_size, "bytes_moved": plan.bytes_moved, "flops": plan.flops}
    if cpu.host_step(plan):
        return dict.fromkeys(caches, row | _on_cpu(topic, plan))
    prepared = gpu.prepare(plan, topic.input_recipe(plan.choice))
    checked = topic.check(plan, gpu.execute(prepared).output)
    if not checked.ok:
        return dict.fromkeys(caches, row | _wrong(checked))
    found: dict[str, Row] = {}
    for cache in caches:
        timed = timing.time_plan(prepared, cache, topic.peers, budget_ms=SAMPLING_MS)
        found[cache] = row | _timed(timed)
        if timed.time_us > SLOW_US:
            break
    return found


def _on_cpu(topic: Topic, plan: Plan) -> Row:
    """A rung that runs on the CPU: the state of the GPU's cache is nothing to it."""
    checked = topic.check(plan, cpu.run(plan).output)
    if not checked.ok:
        return _wrong(checked)
    timed = cpu.time_plan(plan)
    badges = (f"on the CPU: {cpu.name()}, one thread", *(timed.badges if timed else ()))
    return (_timed(timed) if timed else {"status": "ok"}) | {"badges": " · ".join(badges)}


def _wrong(checked: Check) -> Row:
    return {"status": "wrong", "reason": f"The answer was wrong: {checked.result} instead of {checked.expected}."}


def _timed(timed: Timing) -> Row:
    row: Row = {
        "status": "ok",
        "time_us": timed.time_us,
        "low_us": timed.low_us,
        "high_us": timed.high_us,
        "samples": len(timed.times_us),
        "floor_us": timed.floor_us,
        "clock": timed.clock,
        "badges": " · ".join(timed.badges),
    }
    for name, peer in list(timed.peers.items())[:1]:
        row |= {
            "peer": name,
            "peer_us": peer.time_us,
            "peer_low_us": peer.low_us,
            "peer_high_us": peer.high_us,
            "ratio": peer.ratio,
            "ratio_low": peer.ratio_low,
            "ratio_high": peer.ratio_high,
        }
    return row

"""Record the whole catalogue on this GPU, so that a machine without one can show its times."""

from __future__ import annotations

from collections import Counter
from dataclasses import replace
from pathlib import Path
from time import monotonic

from engine.backends import cpu
from engine.catalogue import Topic, spelled_out, topic_of
from engine.history.recordings import (
    FOLDER,
    NEEDS_GPU,
    ON_THE_CPU,
    Key,
    Recording,
    Row,
    Session,
    file_of,
    key_of,
    read,
    still_holds,
    this_session,
    write,
)
from engine.host.environment import environment, has_gpu
from engine.measuring.device import device
from engine.plan import plan
from engine.recording.contents import Wanted, wanted
from engine.records import (
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

BUDGET_S = 520.0  # one recording must fit a short loan of a GPU
SAMPLING_MS = 8.0  # a row; 15 samples at least
SLOW_US = 200e3  # from here on the state of the cache does not matter: only the first state is recorded


def record(
    quick: bool = False,
    progress: Progress | None = None,
    folder: Path = FOLDER,
    budget_s: float = BUDGET_S,
) -> Path:
    """Measure the catalogue on this GPU and write `folder`/<gpu-name>.json.gz; returns its path.

    A file of the same GPU is completed: rows that a new measurement would only repeat stay, also from another commit;
    the others stay until they are measured anew. `quick`: one block size and a few sizes, in a file of its own. Stops
    after `budget_s` seconds. NotRunnable without a GPU.
    """
    if not has_gpu():
        raise NotRunnable(NEEDS_GPU)
    described, now = device("gpu"), this_session(environment())
    path = file_of(described["name"], folder, "-quick" if quick else "")
    before = read(path) if path.exists() else Recording(described)
    state = _Recorder(Recording(described, (*before.sessions, now), dict(before.rows)), now)
    write(path, replace(state.recording, left_out=state.go(list(wanted(quick)), budget_s, progress)))
    return path


class _Recorder:
    """A recording that grows."""

    def __init__(self, recording: Recording, now: Session) -> None:
        self.recording, self.now = recording, now
        # Microseconds per operation, at the last size.
        self._speeds: dict[Key, float] = {}
        self._new = 0

    def go(self, choices: list[Wanted], budget_s: float, progress: Progress | None) -> dict[str, int]:
        """Measure what is missing; returns what was left out and why."""
        say = progress or (lambda fraction, text: None)
        started, said = monotonic(), 0.0
        left_out: dict[str, int] = Counter(
            f"{item.part}: only {', '.join(item.caches)}" for item in choices if item.caches != CACHE_STATES
        )
        for number, item in enumerate(choices):
            choice, spent = item.choice, monotonic() - started
            if spent > budget_s:
                why = f"the time allowed ({budget_s:.0f} s) ran out at {item.part}, n = {choice.n:,}"
                left_out[why] = self._absent(choices[number:])
                break
            if spent > said + 1:
                said = spent
                rows = f"{len(self.recording.rows):,} rows, {self._new:,} new"
                say(min(1.0, spent / budget_s), f"{rows}; {item.part}: {choice.kernel} n {choice.n:,}")
            try:
                if slow := self._take(item):
                    left_out[slow] = left_out.get(slow, 0) + 1
            except RunFailed as failed:
                # The GPU's context is lost with it. What was measured stays, and the next recording passes this by.
                self._add({cache: {"status": failed.status, "reason": str(failed)} for cache in item.caches}, choice)
                left_out[f"{choice.kernel} failed: {failed}"] = self._absent(choices[number + 1 :])
                break
        say(1.0, f"{len(self.recording.rows):,} rows, {self._new:,} new")
        return left_out

    def _absent(self, choices: list[Wanted]) -> int:
        return sum(key_of(item.choice, item.caches[0]) not in self.recording.rows for item in choices)

    def _take(self, item: Wanted) -> str | None:
        """Measure what is missing of one choice. Returns why it was left out. Raises RunFailed."""
        choice = spelled_out(replace(item.choice, device="gpu"))
        try:
            made = plan(choice)
        except NotRunnable as refused:
            self._add({cache: {"status": "refused", "reason": str(refused)} for cache in item.caches}, choice)
            return None
        rows = self.recording.rows
        keys = {cache: key_of(choice, cache) for cache in item.caches}
        here = {cache: rows[key] for cache, key in keys.items() if still_holds(self.recording, key, made, self.now)}
        times = [row["time_us"] for row in here.values() if row.get("time_us")]
        missing = tuple(cache for cache in item.caches if cache not in here)
        if missing and not (times and times[0] > SLOW_US):
            speed = self._speeds.get(_speed_key(choice), 0.0)
            if made.flops * speed > item.limit_s * 1e6:
                return f"{choice.kernel} at large n: one run would take longer than {item.limit_s} s"
            try:
                found = _measured(topic_of(choice.kernel), made, missing)
            except (NotRunnable, CompileError) as error:
                status = "refused" if isinstance(error, NotRunnable) else "compile-error"
                found = {cache: {"status": status, "reason": str(error)} for cache in missing}
            self._add(found, choice)
            times += [row["time_us"] for row in found.values() if row.get("time_us")]
        if times:
            self._speeds[_speed_key(choice)] = times[0] / max(1, made.flops)
        return None

    def _add(self, found: dict[str, Row], choice: Choice) -> None:
        session = len(self.recording.sessions) - 1
        self.recording.rows.update({key_of(choice, cache): row | {"session": session} for cache, row in found.items()})
        self._new += len(found)


def _speed_key(choice: Choice) -> Key:
    return (choice.kernel, choice.combine, choice.parameter, choice.block_size, choice.dtype, choice.grid_size)


def _measured(topic: Topic, plan: Plan, caches: tuple[str, ...]) -> dict[str, Row]:
    """The rows of one choice by state of the cache: its answer is checked once."""
    from engine.backends import gpu
    from engine.measuring import timing

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
    badges = (f"{ON_THE_CPU}{cpu.name()}, one thread", *(timed.badges if timed else ()))
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

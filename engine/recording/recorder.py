"""Record the whole catalogue on this GPU, so that a machine without one can show its times."""

from __future__ import annotations

from collections import Counter
from dataclasses import replace
from pathlib import Path
from time import monotonic

from engine.backends.backend import quiet
from engine.backends.choice import backend_named
from engine.backends.cpu import Cpu, host_step
from engine.catalogue import Topic, kernel_named, topic_of
from engine.catalogue.libraries import peers_named
from engine.choices import Key, key
from engine.history.recordings import (
    FOLDER,
    KEY,
    NEEDS_GPU,
    PEER,
    Recording,
    Row,
    Session,
    file_of,
    read,
    still_holds,
    this_session,
    write,
)
from engine.host.environment import environment, has_gpu
from engine.plan import plan
from engine.recording.contents import Item, contents
from engine.records import (
    CACHE_STATES,
    Check,
    CompileError,
    NotRunnable,
    Plan,
    Progress,
    RunFailed,
    Settled,
    Timing,
    status_of,
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
    described, now = backend_named("gpu").describe(), this_session(environment())
    path = file_of(described["name"], folder, "-quick" if quick else "")
    before = read(path) if path.exists() else Recording(described)
    state = _Recorder(Recording(described, (*before.sessions, now), dict(before.rows)), now)
    write(path, replace(state.recording, left_out=state.go(list(contents(quick)), budget_s, progress)))
    return path


class _Recorder:
    """A recording that grows."""

    def __init__(self, recording: Recording, now: Session) -> None:
        self.recording, self.now = recording, now
        # Microseconds per operation, at the last size.
        self._speeds: dict[Key, float] = {}
        self._new = 0

    def go(self, choices: list[Item], budget_s: float, progress: Progress | None) -> dict[str, int]:
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
                if slow := self._take(choice, item):
                    left_out[slow] = left_out.get(slow, 0) + 1
            except RunFailed as failed:
                # The GPU's context is lost with it. What was measured stays, and the next recording passes this by.
                self._add({cache: {"status": failed.status, "reason": str(failed)} for cache in item.caches}, choice)
                left_out[f"{choice.kernel} failed: {failed}"] = self._absent(choices[number + 1 :])
                break
        say(1.0, f"{len(self.recording.rows):,} rows, {self._new:,} new")
        return left_out

    def _absent(self, choices: list[Item]) -> int:
        rows = self.recording.rows
        return sum(_key(item.choice, item.caches[0]) not in rows for item in choices)

    def _take(self, choice: Settled, item: Item) -> str | None:
        """Measure what is missing of one choice. Returns why it was left out. Raises RunFailed."""
        try:
            made = plan(choice)
        except NotRunnable as refused:
            self._add({cache: {"status": "refused", "reason": str(refused)} for cache in item.caches}, choice)
            return None
        rows = self.recording.rows
        keys = {cache: _key(choice, cache) for cache in item.caches}
        here = {
            cache: rows[own]
            for cache, own in keys.items()
            if still_holds(self.recording, own, made, self.now) and not (item.every_peer and self._lacks_peers(own))
        }
        times = [row["time_us"] for row in here.values() if row.get("time_us")]
        missing = tuple(cache for cache in item.caches if cache not in here)
        if missing and not (times and times[0] > SLOW_US):
            speed = self._speeds.get(_speed_key(choice), 0.0)
            if made.flops * speed > item.limit_s * 1e6:
                return f"{choice.kernel} at large n: one run would take longer than {item.limit_s} s"
            try:
                found = _measured(made, missing, item.every_peer)
            except (NotRunnable, CompileError) as error:
                found = {cache: {"status": status_of(error), "reason": str(error)} for cache in missing}
            self._add(found, choice)
            times += [row["time_us"] for row in found.values() if row.get("time_us")]
        if times:
            self._speeds[_speed_key(choice)] = times[0] / max(1, made.flops)
        return None

    def _lacks_peers(self, own: Key) -> bool:
        """Whether the row was taken when a sum had one library beside it: with the first state of the cache."""
        row, kernel = self.recording.rows[own], kernel_named(own[0])
        then = self.recording.sessions[row["session"]]
        several = kernel.processor == "gpu" and len(peers_named(kernel.name)) > 1
        first = own[KEY.index("cache")] == CACHE_STATES[0]
        return several and first and row["status"] == "ok" and "libraries" not in then.methods

    def _add(self, found: dict[str, Row], choice: Settled) -> None:
        session = len(self.recording.sessions) - 1
        self.recording.rows.update({_key(choice, cache): row | {"session": session} for cache, row in found.items()})
        self._new += len(found)


def _key(choice: Settled, cache: str) -> Key:
    """The row of a choice in a state of the cache."""
    return key(replace(choice, cache=cache))


def _speed_key(choice: Settled) -> Key:
    """What has one speed, whatever its n and the cache."""
    return key(replace(choice, n=0, cache=""))


def _measured(made: Plan, caches: tuple[str, ...], every_peer: bool) -> dict[str, Row]:
    """The rows of one choice by state of the cache: its answer is checked once. Beside it stands the first library that
    is here, or `every_peer`."""
    row: Row = {"grid_size": made.grid_size, "bytes_moved": made.bytes_moved, "flops": made.flops}
    topic = topic_of(made.choice.kernel)
    if host_step(made):
        return dict.fromkeys(caches, row | _on_cpu(topic, made))
    from engine.backends.gpu import launches, peers, timing  # CuPy: only where a GPU is used

    prepared = launches.prepare(made, topic.input_recipe(made.choice))
    checked = topic.check(made, launches.execute(prepared).output)
    if not checked.ok:
        return dict.fromkeys(caches, row | _wrong(checked))
    names = peers_named(made.choice.kernel)
    if not every_peer:
        names = peers.first_here(prepared, names)
    found: dict[str, Row] = {}
    for cache in caches:
        timed = timing.time_plan(prepared, cache, names, budget_ms=SAMPLING_MS)
        found[cache] = row | _timed(timed)
        if timed.time_us > SLOW_US:
            break
    return found


def _on_cpu(topic: Topic, made: Plan) -> Row:
    """A rung that runs on the CPU: the state of the GPU's cache is nothing to it."""
    backend = Cpu("gpu")
    run = backend.run(made, quiet)
    checked = topic.check(made, run.output)
    if not checked.ok:
        return _wrong(checked)
    timed = backend.time(made, quiet)
    badges = (*run.badges, *(timed.badges if timed else ()))
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
    told = {name: _told(peer) for name, peer in timed.peers.items()}
    for name in list(told)[:1]:
        row |= {"peer": name, **dict(zip(PEER, told.pop(name), strict=True))}
    return row | ({"more_peers": told} if told else {})


def _told(peer: Timing) -> list[float | None]:
    """What a row says of a peer, in the order of PEER."""
    values = (peer.time_us, peer.low_us, peer.high_us, peer.ratio, peer.ratio_low, peer.ratio_high)
    return [None if value is None else round(value, 4) for value in values]

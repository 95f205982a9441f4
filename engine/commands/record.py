"""Record the whole catalogue on this GPU, so that a machine without one can show its times."""

from __future__ import annotations

from collections import Counter
from collections.abc import Iterator
from dataclasses import dataclass, replace
from pathlib import Path
from time import monotonic
from typing import Any

from engine.backends.backend import backend_named, quiet
from engine.backends.cpu import Cpu, host_step
from engine.catalogue import KERNELS, LADDERS, TOPICS, Kernel, Ladder, Topic, kernel_named, topic_of
from engine.catalogue.libraries import operation_of, peers_named
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
from engine.lectures import judge, published
from engine.machine.environment import environment, has_gpu
from engine.plan import Key, grid_for, key, offered_elements, plan, settle, strides
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
    Settled,
    Timing,
    status_of,
)
from engine.records.words import wrong_text

COLD, COLD_AND_HOT = CACHE_STATES[:1], (CACHE_STATES[0], CACHE_STATES[-1])
POWERS = tuple(2**power for power in range(10, 31))
ELEMENT_SIZES = tuple(2**power for power in range(20, 29, 2))
ELEMENT_BLOCK = 256
QUICK_LIMIT_S = 0.1  # of one run
LARGE_SIZES, LARGE_OPERATIONS = (2**26, 2**28), ("prefix sum", "selection", "maximum")
LARGER = 2  # sizes beyond the ladder's own at which a parameter is varied


@dataclass(frozen=True)
class Item:
    """A choice to time in these cache states; left out if one run is predicted to take longer than `limit_s`.

    `part`: its part of the recording, in words. `every_peer`: time it beside all libraries, not only the first.
    """

    choice: Settled
    part: str
    caches: tuple[str, ...] = CACHE_STATES
    limit_s: float = 0.4
    every_peer: bool = False


def contents(quick: bool = False) -> Iterator[Item]:
    """Return every choice of a recording in order; a choice may come twice. `quick`: those that fit into
    QUICK_BUDGET_S, first every rung as its ladder opens, then a few sizes of every kernel."""
    if quick:
        for item in _rungs():
            if item.choice.n in [ladder.n for ladder in _ladders_of(KERNELS[item.choice.kernel])]:
                yield replace(item, caches=COLD, limit_s=QUICK_LIMIT_S, every_peer=False)
        for topic in TOPICS.values():
            dtypes, blocks = topic.kernels[0].dtypes[:1], (topic.default_block_size,)
            yield from _sweep(topic, dtypes, topic.sizes[1::3], COLD, blocks, limit_s=QUICK_LIMIT_S)
        return
    reduction = TOPICS["reduction"]
    yield from _rungs()
    yield from _lectures()
    yield from _parameters()
    harris = LADDERS["harris"]  # its page asks how many elements a thread should take
    yield from _elements(reduction, (harris.n,), harris.block_size)
    yield from _elements(reduction, ELEMENT_SIZES, ELEMENT_BLOCK)
    yield from _types()
    yield from _sweep(reduction, ("int32",), POWERS)
    for topic in TOPICS.values():
        if topic is not reduction:
            yield from _sweep(topic, tuple(C_TYPES), topic.sizes, every_combine=True, limit_s=1.5)
            yield from _elements(topic, (topic.default_n,), topic.default_block_size)
    yield from _large()
    yield from _sweep(reduction, ("int32",), reduction.sizes, every_combine=True)
    yield from _sweep(reduction, ("float32", "float64"), reduction.sizes, COLD)


def _sizes_of(ladder: Ladder) -> tuple[int, ...]:
    return (ladder.n,) if ladder.emulator_n is None else (ladder.n, ladder.emulator_n)


def _ladders_of(kernel: Kernel) -> list[Ladder]:
    return [ladder for ladder in LADDERS.values() if any(rung.kernel == kernel.name for rung in ladder.rungs)]


def _rungs() -> Iterator[Item]:
    """Yield every rung as its ladder opens."""
    for ladder in LADDERS.values():
        for n in _sizes_of(ladder):
            for rung in ladder.rungs:
                kernel = KERNELS[rung.kernel]
                if ladder.block_size in kernel.block_sizes and ladder.dtype in kernel.dtypes:
                    choice = _on_gpu(kernel.name, n, ladder.block_size, dtype=ladder.dtype, combine=rung.combine)
                    yield Item(choice, "the ladders", limit_s=1.5, every_peer=True)


def _lectures() -> Iterator[Item]:
    """Yield the conditions of every figure that a lecture prints, and the runs that decide its claims about speed."""
    for name in published.published_ladders():
        for choice, _ in published.choices(LADDERS[name], "gpu"):
            yield Item(choice, "published figures", limit_s=1.5)
    for claim in judge.CLAIMS:
        for choice in judge.runs(claim):
            if choice.device == "gpu":
                yield Item(choice, "claims", COLD, 1.5)


def _parameters() -> Iterator[Item]:
    """Yield every value of every parameter, at the size of the kernel's first ladder and at a few larger ones."""
    for kernel in KERNELS.values():
        if kernel.parameter is None:
            continue
        topic, ladder = TOPICS[kernel.topic], _ladders_of(kernel)[0]
        larger = tuple(n for n in topic.sizes if n > ladder.n)[:LARGER]
        dtype = ladder.dtype if ladder.dtype in kernel.dtypes else kernel.dtypes[0]
        for n in (ladder.n, *larger):
            for value in kernel.parameter.values:
                choice = _on_gpu(kernel.name, n, ladder.block_size, dtype=dtype, parameter=value)
                yield Item(choice, "knobs", COLD_AND_HOT)


def _elements(topic: Topic, sizes: tuple[int, ...], block_size: int) -> Iterator[Item]:
    """Yield every number of elements per thread of the grid-stride kernels."""
    for n in sizes:
        for kernel in topic.kernels:
            if strides(kernel) and block_size in kernel.block_sizes:
                for each in offered_elements(n, block_size):
                    blocks = grid_for(n, block_size, each)
                    choice = _on_gpu(kernel.name, n, block_size, blocks, dtype=kernel.dtypes[0])
                    yield Item(choice, "elements per thread", COLD_AND_HOT)


def _types() -> Iterator[Item]:
    """Yield every element type of every kernel, at its ladders' sizes."""
    for kernel in KERNELS.values():
        for dtype in kernel.dtypes:
            for ladder in _ladders_of(kernel):
                for n in _sizes_of(ladder):
                    if ladder.block_size in kernel.block_sizes:
                        choice = _on_gpu(kernel.name, n, ladder.block_size, dtype=dtype)
                        yield Item(choice, "element types", COLD, 1.5)


def _large() -> Iterator[Item]:
    """Yield sizes beyond the menus, at which only the memory's speed counts, beside the libraries."""
    for topic in TOPICS.values():
        for kernel in topic.kernels:
            if operation_of(kernel.name) in LARGE_OPERATIONS:
                for n in LARGE_SIZES:
                    if max(topic.sizes) < n <= topic.max_n:
                        for dtype in kernel.dtypes:
                            choice = _on_gpu(kernel.name, n, topic.default_block_size, dtype=dtype)
                            yield Item(choice, "large n", COLD, 1.5)


def _sweep(
    topic: Topic,
    dtypes: tuple[str, ...],
    sizes: tuple[int, ...],
    caches: tuple[str, ...] = CACHE_STATES,
    block_sizes: tuple[int, ...] | None = None,
    every_combine: bool = False,
    limit_s: float = 0.4,
) -> Iterator[Item]:
    """Yield every size and block size of a topic."""
    for dtype in dtypes:
        for n in sizes:
            for kernel in topic.kernels:
                for combine in kernel.combines if every_combine else kernel.combines[:1]:
                    for block_size in kernel.block_sizes:
                        if dtype in kernel.dtypes and (block_sizes is None or block_size in block_sizes):
                            choice = _on_gpu(kernel.name, n, block_size, dtype=dtype, combine=combine)
                            yield Item(choice, f"{topic.title.lower()} in {dtype}", caches, limit_s)


def _on_gpu(kernel: str, n: int, block_size: int, grid_size: int | None = None, **chosen: Any) -> Settled:
    return settle(Choice(kernel, n, block_size, grid_size, device="gpu", **chosen))


BUDGET_S = 520.0  # one recording must fit into a short use of a GPU
QUICK_BUDGET_S = 100.0  # leaves 20 s of two minutes for the start, the choice under way at the end, and the file
SAMPLING_MS = 8.0  # milliseconds per row, with at least 15 samples
SLOW_US = 200e3  # beyond this size the cache state does not matter: only the first state is recorded


def record(
    quick: bool = False,
    progress: Progress | None = None,
    folder: Path = FOLDER,
    budget_s: float | None = None,
) -> Path:
    """Measure the catalogue on this GPU and write `folder`/<gpu-name>.json.gz; returns its path.

    An existing file of the same GPU is completed: rows that a new measurement would only repeat stay, also from another
    commit; the others stay until they are measured again. `quick`: the ladders as they open and a few sizes, in a
    separate file. Stops after `budget_s` seconds, by default BUDGET_S or QUICK_BUDGET_S. NotRunnable without a GPU.
    """
    if budget_s is None:
        budget_s = QUICK_BUDGET_S if quick else BUDGET_S
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
        """Measure the missing rows; return the omitted choices with reasons."""
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
                # The GPU's context is lost too. The rows stay, and the next recording skips this choice.
                self._add({cache: {"status": failed.status, "reason": str(failed)} for cache in item.caches}, choice)
                left_out[f"{choice.kernel} failed: {failed}"] = self._absent(choices[number + 1 :])
                break
        say(1.0, f"{len(self.recording.rows):,} rows, {self._new:,} new")
        return left_out

    def _absent(self, choices: list[Item]) -> int:
        rows = self.recording.rows
        return sum(_key(item.choice, item.caches[0]) not in rows for item in choices)

    def _take(self, choice: Settled, item: Item) -> str | None:
        """Measure the missing rows of one choice. Return why it was left out. Raises RunFailed."""
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
        """Return whether the row was taken when a sum had only one library beside it, in the first cache state."""
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
    """Return the row's key of a choice in a cache state."""
    return key(replace(choice, cache=cache))


def _speed_key(choice: Settled) -> Key:
    """Return the identity of all choices with one speed, whatever their n and cache state."""
    return key(replace(choice, n=0, cache=""))


def _measured(made: Plan, caches: tuple[str, ...], every_peer: bool) -> dict[str, Row]:
    """Measure one choice in each cache state; its answer is checked once. Beside it runs the first library, or
    `every_peer`."""
    row: Row = {"grid_size": made.grid_size, "bytes_moved": made.bytes_moved, "flops": made.flops}
    topic = topic_of(made.choice.kernel)
    if host_step(made):
        return dict.fromkeys(caches, row | _on_cpu(topic, made))
    from engine.backends.gpu import launches, peers  # CuPy is imported only if a GPU is used
    from engine.backends.timing import gpu

    prepared = launches.prepare(made, topic.input_recipe(made.choice))
    checked = topic.check(made, launches.execute(prepared).output)
    if not checked.ok:
        return dict.fromkeys(caches, row | _wrong(checked))
    names = peers_named(made.choice.kernel)
    if not every_peer:
        names = peers.first_here(prepared, names)
    found: dict[str, Row] = {}
    for cache in caches:
        timed = gpu.time_plan(prepared, cache, names, budget_ms=SAMPLING_MS)
        found[cache] = row | _timed(timed)
        if timed.time_us > SLOW_US:
            break
    return found


def _on_cpu(topic: Topic, made: Plan) -> Row:
    """Measure a rung on the CPU, which does not depend on the GPU's cache state."""
    backend = Cpu("gpu")
    run = backend.run(made, quiet)
    checked = topic.check(made, run.output)
    if not checked.ok:
        return _wrong(checked)
    timed = backend.time(made, quiet)
    badges = (*run.badges, *(timed.badges if timed else ()))
    return (_timed(timed) if timed else {"status": "ok"}) | {"badges": " · ".join(badges)}


def _wrong(checked: Check) -> Row:
    return {"status": "wrong", "reason": f"The answer was wrong: {wrong_text(checked)}."}


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
    told = {name: _peer_columns(peer) for name, peer in timed.peers.items()}
    for name in list(told)[:1]:
        row |= {"peer": name, **dict(zip(PEER, told.pop(name), strict=True))}
    return row | ({"more_peers": told} if told else {})


def _peer_columns(peer: Timing) -> list[float | None]:
    """Return the columns PEER of a library."""
    values = (peer.time_us, peer.low_us, peer.high_us, peer.ratio, peer.ratio_low, peer.ratio_high)
    return [None if value is None else round(value, 4) for value in values]

"""Time a prepared plan in turn with the libraries that do the same work.

A sample is `flush, event, work, event`, queued on an idle GPU: the flush hides the host's launch time, so the events
measure the GPU alone. If no flush hides it (a hot cache, work that is slow to enqueue), a kernel that waits on the
GPU's own clock runs first. The plan and the libraries take turns, so a drift of the clock affects all of them. A plan
that ends on the host is timed by the host's clock, from the launch to the finished sum.
"""

from __future__ import annotations

import gc
from collections.abc import Callable, Iterator, Sequence
from contextlib import contextmanager
from dataclasses import dataclass, replace
from functools import lru_cache
from math import ceil
from time import perf_counter
from typing import Any

import cupy
from cupy_backends.cuda.api import runtime

from engine.backends.gpu.launches import Prepared, explain_errors
from engine.backends.gpu.memory import stream
from engine.backends.gpu.peers import peers_of
from engine.backends.timing import probes
from engine.backends.timing.statistics import half_width, median, median_interval, paired_ratio, spread
from engine.machine.environment import foreign_processes
from engine.records import CACHE_STATES, HostSum, NotRunnable, Progress, Timing

PRECISION = 0.01  # stop when half of the median's 95% interval is below this fraction
BUDGET_MS = 120.0
MAX_SAMPLES = 300
MIN_SAMPLES = 15
LEAST_BUDGETS = 10  # accept fewer than 15 samples, down to 3, if 15 take longer than this many budgets
BATCH_US = 8_000.0  # microseconds of GPU time between two checks of the stop rule
LATENCY_BOUND_US = 10.0
NOISY = 0.05
THROTTLED = 0.96
HOST_MARGIN = 1.5  # the delay is this many times the host's time


@dataclass(frozen=True)
class Work:
    """Something to time: a plan, a library's call, or the empty kernel. `fetch`: the host's part after it, if that
    counts."""

    name: str
    enqueue: Callable[[], object]
    fetch: Callable[[], object] | None = None


def time_plan(
    prepared: Prepared,
    cache: str,
    peers: Sequence[str] = (),
    progress: Progress | None = None,
    budget_ms: float = BUDGET_MS,
    max_samples: int = MAX_SAMPLES,
) -> Timing:
    """Time a plan in microseconds, in turn with the libraries of those names: median, 95% interval and all samples.

    `cache`: "cold-clean", "cold-dirty" or "hot". Sampling stops at 1%, at `budget_ms` or at `max_samples`, but not
    before 15 samples; fewer, down to 3, if 15 take ten times the budget. NotRunnable and RunFailed.
    """
    if cache not in CACHE_STATES:
        raise NotRunnable(f"There is no cache state {cache!r}; choose {', '.join(CACHE_STATES)}.")
    say = progress or (lambda fraction, text: None)
    on_host = isinstance(prepared.plan.steps[-1], HostSum)
    with explain_errors(prepared.plan), stream(), _no_garbage_collection():
        found, missing = peers_of(prepared, peers)
        works = [Work(prepared.plan.choice.kernel, prepared.enqueue, prepared.fetch if on_host else None)]
        works += [Work(peer.name, peer.enqueue, peer.fetch if on_host else None) for peer in found]
        probes.wake()
        clock = probes.Clock()
        samples, notes = _sampled(works, cache, budget_ms, max_samples, clock, say)
        floor = _floor_us(cache, "host" if on_host else prepared.path)
    own = _timing(samples[0], on_host)
    timed_peers = {}
    for work, times in zip(works[1:], samples[1:], strict=True):
        ratio, low, high = paired_ratio(times, samples[0])
        timed_peers[work.name] = replace(
            _timing(times, on_host), ratio=ratio, ratio_low=low, ratio_high=high, notes={"samples": len(times)}
        )
    first = next(iter(timed_peers.values()), None)
    clock_mhz = clock.megahertz()
    notes |= {"path": prepared.path, "sm_clock_mhz": None if clock_mhz is None else round(clock_mhz)}
    notes["sm_clock_max_mhz"] = round(probes.max_megahertz())
    notes |= {"peers_missing": missing} if missing else {}
    return replace(
        own,
        floor_us=floor,
        ratio=first.ratio if first else None,
        ratio_low=first.ratio_low if first else None,
        ratio_high=first.ratio_high if first else None,
        peers=timed_peers,
        badges=_badges(own, notes),
        notes=notes,
    )


def _timing(times: Sequence[float], on_host: bool) -> Timing:
    low, high = median_interval(times)
    return Timing(tuple(times), median(times), low, high, clock="host" if on_host else "event")


def _badges(timing: Timing, notes: dict[str, Any]) -> tuple[str, ...]:
    clock = notes["sm_clock_mhz"]
    conditions = {
        "throttled": clock is not None and clock < THROTTLED * notes["sm_clock_max_mhz"],
        "GPU shared": bool(foreign_processes()),
        "noisy": spread(timing.times_us) > NOISY,
        "latency-bound": timing.time_us < LATENCY_BOUND_US,
        "few samples": len(timing.times_us) < MIN_SAMPLES,
    }
    return tuple(badge for badge, holds in conditions.items() if holds)


def _sampled(
    works: Sequence[Work], cache: str, budget_ms: float, max_samples: int, clock: probes.Clock, say: Progress
) -> tuple[list[list[float]], dict[str, Any]]:
    """Sample each work in turn: lists of equal length in microseconds, and notes on the sampling."""
    batch = _host_batch if works[0].fetch else _event_batch
    flush = probes.flush(cache)
    # This loads every module before the timing, and shows how long a sample takes.
    delays = [0] * len(works)
    batch(works, flush, delays, 1)
    host_us = [_host_us(work) for work in works]
    stream().synchronize()
    estimates = batch(works, flush, delays, 1)
    flush_us = _flush_us(cache)
    if batch is _event_batch:
        # A hot sample queues the work twice; the first run warms the cache.
        delays = [_delay_ns(own if flush else 2 * own, flush_us) for own in host_us]
    longest = max(times[0] for times in estimates)
    least = int(min(max(LEAST_BUDGETS * budget_ms * 1e3 / longest, 3), MIN_SAMPLES))
    round_us = sum(times[0] for times in estimates) * (2 if flush is None else 1)
    round_us += len(works) * flush_us + sum(delays) / 1e3
    samples: list[list[float]] = [[] for _ in works]
    started = perf_counter()
    while True:
        count = len(samples[0])
        spent = (perf_counter() - started) * 1e3 / budget_ms
        done = max(spent, count / max_samples)
        if count >= least:
            precise = all(half_width(times) < PRECISION for times in samples)
            if precise or done >= 1:
                stop = "precise" if precise else "time" if spent >= 1 else "samples"
                break
        say(0.5 + 0.5 * min(done, 1.0), f"Timing: {count} samples")
        size = int(min(max(BATCH_US / round_us, 1), max_samples - count, 50)) if count < max_samples else 1
        clock.start()
        for own, new in zip(samples, batch(works, flush, delays, size), strict=True):
            own += new
        clock.stop()
        clock.read()
    return samples, {"stop": stop, "host_us": round(host_us[0], 2), "delay_us": delays[0] / 1e3}


def _event_batch(
    works: Sequence[Work], flush: probes.Enqueue | None, delays: Sequence[int], size: int
) -> list[list[float]]:
    events = _events(2 * size * len(works))
    record, on = runtime.eventRecord, stream().ptr
    turns = [(probes.delay(ns) if ns else None, work.enqueue, flush or work.enqueue)
             for work, ns in zip(works, delays, strict=True)]  # fmt: skip
    position = 0
    for _ in range(size):
        for hold, enqueue, before in turns:
            stream().synchronize()  # with dozens of samples queued behind it, a launch takes 0.4 to 1 us longer
            if hold:
                hold()
            before()
            record(events[position].ptr, on)
            enqueue()
            record(events[position + 1].ptr, on)
            position += 2
    stream().synchronize()
    times = [1e3 * runtime.eventElapsedTime(events[i].ptr, events[i + 1].ptr) for i in range(0, position, 2)]
    return [[round(time, 3) for time in times[i :: len(works)]] for i in range(len(works))]


def _host_batch(
    works: Sequence[Work], flush: probes.Enqueue | None, delays: Sequence[int], size: int
) -> list[list[float]]:
    times: list[list[float]] = [[] for _ in works]
    for _ in range(size):
        for work, own in zip(works, times, strict=True):
            assert work.fetch is not None
            if flush:
                flush()
            else:
                work.enqueue()
            stream().synchronize()
            started = perf_counter()
            work.enqueue()
            work.fetch()
            own.append(round((perf_counter() - started) * 1e6, 3))
    return times


def _delay_ns(host_us: float, flush_us: float) -> int:
    """Return how long the GPU must wait until the host has queued its work, in ns; 0 if the flush is long enough."""
    needed = HOST_MARGIN * host_us
    if flush_us >= needed:
        return 0
    return 5_000 * ceil(1 + (needed - flush_us) / 5)  # rounded to steps, so few delay kernels are built


def _host_us(work: Work) -> float:
    """Return the host's time to queue one piece of work between its events: the least of a few tries; one for slow
    work."""
    begin, end = _events(2)
    least = float("inf")
    first = perf_counter()
    for _ in range(5):
        started = perf_counter()
        runtime.eventRecord(begin.ptr, stream().ptr)
        work.enqueue()
        runtime.eventRecord(end.ptr, stream().ptr)
        least = min(least, perf_counter() - started)
        stream().synchronize()
        if perf_counter() - first > 0.02:
            break
    return least * 1e6


@lru_cache(maxsize=3)
def _flush_us(cache: str) -> float:
    flush = probes.flush(cache)
    return probes.elapsed_us(flush, 5) if flush else 0.0


@lru_cache(maxsize=16)
def _floor_us(cache: str, path: str) -> float:
    """Return the time of the empty kernel on the same path, the cost of a launch. It is shown, never subtracted."""
    if path == "host":
        work = Work("empty", probes.empty(), stream().synchronize)
    else:
        work = Work("empty", probes.empty_graph() if path == "graph" else probes.empty())
    samples, _ = _sampled([work], cache, 20.0, 100, probes.Clock(), lambda fraction, text: None)
    return median(samples[0])


_event_pool: list[Any] = []


def _events(count: int) -> list[Any]:
    while len(_event_pool) < count:
        _event_pool.append(cupy.cuda.Event())
    return _event_pool[:count]


@contextmanager
def _no_garbage_collection() -> Iterator[None]:
    was_on = gc.isenabled()
    gc.disable()
    try:
        yield
    finally:
        if was_on:
            gc.enable()

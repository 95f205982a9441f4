"""What one browser may ask of the workers: each limit is refused in a sentence that says it, and when it is free."""

from __future__ import annotations

import pytest

from engine.plan import settle
from engine.records import Choice
from engine.service import service
from engine.service.failures import Rejected
from engine.service.job import Job
from engine.service.journal import JobEnd
from engine.service.limits import Allowances, Limits
from engine.service.queue import JobQueue

LIMITS = Limits("a student", runs=3, worker_s=30, n=1000, memory=1 << 30)
JOB = Job("engine.records.words:size_text", (64,))


class Clock:
    now = 100.0

    def __call__(self) -> float:
        return self.now


def allowances(limits: Limits = LIMITS) -> tuple[Allowances, Clock]:
    clock = Clock()
    made = Allowances(clock)
    made.enrol("tab", "browser", limits)
    return made, clock


def ended(session: str, ran_s: float | None) -> JobEnd:
    return JobEnd("m:f", "emulator", session, "ok", 1, 0.0, ran_s)


def test_runs_a_minute_are_counted_and_come_back_one_by_one() -> None:
    made, clock = allowances()
    for _ in range(3):
        made.admit("tab", JOB)
    with pytest.raises(Rejected, match=r"as many runs as a student may, 3 a minute: the next can start in 20 s\.$"):
        made.admit("tab", JOB)
    clock.now += 20.0
    made.admit("tab", JOB)
    with pytest.raises(Rejected, match="in 20 s"):
        made.admit("tab", JOB)
    clock.now += 3600.0  # no more than a minute's worth is saved up
    for _ in range(3):
        made.admit("tab", JOB)
    with pytest.raises(Rejected):
        made.admit("tab", JOB)


def test_workers_time_is_counted_when_a_run_has_ended_and_a_long_one_is_worked_off() -> None:
    made, clock = allowances()
    made.ended(ended("tab", 29.0))
    made.admit("tab", JOB)
    made.ended(ended("tab", 41.0))
    with pytest.raises(Rejected, match=r"30 s of a worker's time a minute that a student may use: .* in 80 s\.$"):
        made.admit("tab", JOB)
    clock.now += 80.0
    made.admit("tab", JOB)


def test_a_size_and_a_memory_beyond_the_limits_are_refused_whenever() -> None:
    made, _ = allowances()
    made.admit("tab", Job("m:f", n=1000, memory=1 << 30))
    with pytest.raises(Rejected, match=r"N = 1,001 is too large: a student may run up to 1,000 here\."):
        made.admit("tab", Job("m:f", n=1001))
    with pytest.raises(Rejected, match=r"The arrays take 1\.5 GiB, and a student may use 1\.0 GiB in a run"):
        made.admit("tab", Job("m:f", memory=3 << 29))


def test_limits_are_a_browsers_whatever_its_tabs() -> None:
    made, _ = allowances()
    for _ in range(3):
        made.admit("tab", JOB)
    made.enrol("second tab", "browser", LIMITS)
    made.leave("tab")
    with pytest.raises(Rejected):
        made.admit("second tab", JOB)
    made.enrol("elsewhere", "another browser", LIMITS)
    made.admit("elsewhere", JOB)
    made.admit("a notebook", JOB)


def test_a_run_that_no_worker_took_does_not_count_and_a_refusal_says_when_to_ask_again() -> None:
    made, _ = allowances()
    for _ in range(3):
        made.admit("tab", JOB)
    with pytest.raises(Rejected) as refused:
        made.admit("tab", JOB)
    assert refused.value.again_s == pytest.approx(20.0)
    made.ended(ended("tab", None))
    made.admit("tab", JOB)


def test_who_has_no_limits_is_refused_nothing() -> None:
    made, _ = allowances(Limits("a presenter"))
    for _ in range(1000):
        made.admit("tab", Job("m:f", n=2**40, memory=1 << 40))
    made.ended(ended("tab", 1e6))
    made.admit("tab", JOB)
    assert Limits("a presenter").said == ""
    assert LIMITS.said == (
        "Your browser may use up to 3 runs a minute, 30 s of a worker's time a minute, N = 1,000, "
        "1.0 GiB of arrays in a run."
    )


def test_browsers_that_are_gone_are_forgotten_once_they_owe_nothing() -> None:
    made, clock = allowances()
    made.ended(ended("tab", 60.0))
    made.leave("tab")
    made.enrol("new", "new browser", LIMITS)
    assert set(made._browsers) == {"browser", "new browser"}
    clock.now += 121.0
    made.enrol("newer", "newer browser", LIMITS)
    assert set(made._browsers) == {"new browser", "newer browser"}


def test_the_queue_asks_before_it_begins_a_run_and_not_for_one_that_is_shared() -> None:
    asked: list[str] = []
    queue = JobQueue(service.slots_for((), emulators=1), admit=lambda session, _: asked.append(session))
    try:
        job = Job("engine.records.words:size_text", (64,), key="the same")
        queue.submit(job, "first")
        queue.submit(job, "second")
        assert asked == ["first"]
    finally:
        queue.close()


def test_a_run_says_its_size_and_its_memory() -> None:
    choice = settle(Choice("reduce_strided", 2**20, 256, dtype="float32", device="emulator"))
    assert 4 * 2**20 <= service.memory_of(choice) < 5 * 2**20
    service.ALLOWANCES.enrol("small", "small", Limits("a student", n=2**10))
    with pytest.raises(Rejected, match="N = 1,048,576 is too large"):
        service.submit(choice, "small")
    service.leave("small")

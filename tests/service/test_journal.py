"""Each job that ends adds a line to the log and to the counts, which Prometheus can read."""

from __future__ import annotations

import json
import logging
import re
from pathlib import Path

import pytest

from engine.records import NotRunnable, RunFailed
from engine.service import health, service
from engine.service.job import Outcome
from engine.service.journal import JobEnd, Journal, family, outcome_word
from engine.service.queue import JobQueue
from engine.service.slots import WorkerSlot
from engine.store import database
from tests.service.jobs import PATIENCE_S, job, until

SAMPLE = re.compile(r'^[a-z_]+(\{[a-z]+="[^"\n]*"(,[a-z]+="[^"\n]*")*\})? [0-9.e+-]+$')


def test_every_end_has_an_outcome_a_log_line_and_a_count(tmp_path: Path, caplog: pytest.LogCaptureFixture) -> None:
    journal, ends = Journal(), []

    def record(end: JobEnd) -> None:
        journal.add(end)
        ends.append(end)

    jobs = [job("add", 1, 1, key="k"), job("fail", "NotRunnable"), job("fail", "CompileError"), job("leave", 3),
            job("fail", "ZeroDivisionError"), job("endless_loop", deadline=0.2)]  # fmt: skip
    queue = JobQueue([WorkerSlot("emulator", "plain")], record)
    with caplog.at_level(logging.INFO, "kernel_ladder.jobs"):
        try:
            handles = [queue.submit(each, "a session of somebody") for each in jobs]
            assert queue.submit(jobs[0], "another").result(PATIENCE_S) == 2  # joined, or kept
            stopped = queue.submit(job("endless_steps"), "a session of somebody")
            assert until(lambda: stopped.position() == 0)
            queue.submit(job("add", 1, 1), "a session of somebody").cancel()  # before any worker has it
            assert len(ends) == 7 and ends[6].ran_s is None
            stopped.cancel()
            assert until(lambda: len(ends) == 8)
            state = queue.state()
        finally:
            queue.close()
    assert all(handle.done.is_set() for handle in handles)
    words = ["ok", "refused", "compile-error", "crashed", "failed", "timeout", "cancelled", "cancelled"]
    assert [end.outcome for end in ends] == words
    lines = [json.loads(record.message) for record in caplog.records]
    assert [line["outcome"] for line in lines] == words
    assert lines[0]["session"] == "a sessio" and lines[0]["device"] == "emulator" and lines[0]["waited_s"] >= 0
    assert (ends[5].ran_s or 0.0) >= 0.2 and lines[6]["ran_s"] is None
    text = journal.text()
    assert 'kernel_ladder_jobs_total{device="emulator",outcome="ok"} 1\n' in text
    assert 'kernel_ladder_run_seconds_bucket{device="emulator",le="+Inf"} 7\n' in text
    assert (state.workers, state.waiting, state.joined + state.kept) == ({"emulator": 1}, {"emulator": 0}, 1)


def test_a_kernel_that_fails_has_its_own_outcome() -> None:
    assert outcome_word(Outcome.failure(RunFailed("deadlock", "Line 7: not every thread reaches it."))) == "deadlock"


def test_prometheus_can_read_every_line() -> None:
    service.connect()
    try:
        text = health.metrics(browsers=3)
    finally:
        service.disconnect()
    assert "kernel_ladder_browsers 3\n" in text and "kernel_ladder_ready 1\n" in text
    names = [line.split()[2] for line in text.splitlines() if line.startswith("# TYPE")]
    assert len(names) == len(set(names)) >= 10
    for line in text.splitlines():
        assert line.startswith("# ") or SAMPLE.match(line), line
    assert family("x", "gauge", "y", [({"a": 'b"\\'}, 1.5)]).endswith('x{a="b\\"\\\\"} 1.5\n')


def test_readiness_depends_on_the_queue_and_reports_a_broken_store(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(health, "compiler_trouble", lambda: None)
    service.disconnect()
    assert not health.readiness().ready and "kernel_ladder_ready 0\n" in health.metrics(0)
    service.connect()
    try:
        assert health.readiness().ready and health.readiness().reasons == ()
        database.folder().mkdir(parents=True)
        (database.folder() / database.FILE).write_bytes(b"no database " * 1000)
        found = health.readiness()
        assert found.ready and "cannot be used" in found.reasons[0]
        assert json.loads(json.dumps(found.flat()))["queue"]["waiting"]["emulator"] == 0
    finally:
        service.disconnect()


def test_readiness_notes_a_missing_confinement_and_fails_without_a_compiler(monkeypatch: pytest.MonkeyPatch) -> None:
    trials = iter(["The compiler is away.", None])
    monkeypatch.setattr(health, "_compiler", health._Compiler())
    monkeypatch.setattr(health, "missing_confinement", lambda: "no Landlock")
    monkeypatch.setattr(health, "compiler_trouble", lambda: next(trials))
    monkeypatch.setattr(health, "RETRY_S", 3600.0)
    service.connect()
    try:
        assert health.readiness().notes == ("no Landlock",)
        until(lambda: not health.readiness().ready)
        assert health.readiness().reasons == ("The compiler is away.",)
        monkeypatch.setattr(health._compiler, "_next", 0.0)
        until(lambda: health.readiness().ready)
    finally:
        service.disconnect()


def test_a_home_that_cannot_be_written_is_told(monkeypatch: pytest.MonkeyPatch) -> None:
    def crash(*arguments: object) -> None:
        raise NotRunnable("The compiler is asleep.")

    monkeypatch.setattr(health, "compile_source", crash)
    assert "The compiler is asleep." in str(health.compiler_trouble())

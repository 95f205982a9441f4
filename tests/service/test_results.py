"""A job's value or exception comes back from a real worker process, as a separate copy."""

from __future__ import annotations

import os
import threading

import pytest

from engine.records import CompileError, NotRunnable, RunFailed
from engine.service.job import Job, JobFailed
from engine.service.queue import JobQueue
from tests.service.jobs import JOBS, PATIENCE_S, job, next_run_is_soon, queue_with


def test_a_value_comes_back(shared: JobQueue) -> None:
    assert shared.submit(job("add", 2, 3), "a").result(PATIENCE_S) == 5


def test_jobs_run_in_another_process_which_is_reused(shared: JobQueue) -> None:
    first = shared.submit(job("process_id"), "a").result(PATIENCE_S)
    assert first == shared.submit(job("process_id"), "b").result(PATIENCE_S) != os.getpid()


def test_a_large_value_comes_back(shared: JobQueue) -> None:
    assert len(shared.submit(job("large", 50_000_000), "a").result(PATIENCE_S)) == 50_000_000


def test_keywords_reach_the_function(shared: JobQueue) -> None:
    assert shared.submit(Job(f"{JOBS}:add", (1,), keywords=(("b", 5),)), "a").result(PATIENCE_S) == 6


def test_the_engines_exceptions_come_back_as_themselves(shared: JobQueue) -> None:
    with pytest.raises(NotRunnable, match="power of two"):
        shared.submit(job("fail", "NotRunnable"), "a").result(PATIENCE_S)
    with pytest.raises(CompileError, match="line 3") as compile_error:
        shared.submit(job("fail", "CompileError"), "a").result(PATIENCE_S)
    assert compile_error.value.log == "a.cu(3): error: expected a ;"
    assert compile_error.value.line == 3
    with pytest.raises(RunFailed, match="barrier") as run_failed:
        shared.submit(job("fail", "RunFailed"), "a").result(PATIENCE_S)
    assert (run_failed.value.status, run_failed.value.line) == ("deadlock", 7)


def test_any_other_exception_comes_back_as_job_failed(shared: JobQueue) -> None:
    with pytest.raises(JobFailed, match=r"ZeroDivisionError: division by zero\.$") as failed:
        shared.submit(job("fail", "ZeroDivisionError"), "a").result(PATIENCE_S)
    assert (failed.value.type, failed.value.text) == ("ZeroDivisionError", "division by zero")
    assert "misbehaving.py" in failed.value.traceback
    next_run_is_soon(shared)


@pytest.mark.parametrize(
    ("name", "args", "kind"),
    [
        ("fail", ("SystemExit",), "SystemExit"),
        ("fail_oddly", (), "OddError"),
        ("unpicklable", (), ""),
        ("missing", (), "AttributeError"),
        ("add", (1,), "TypeError"),
    ],
)
def test_unusual_errors_come_back_as_job_failed_too(
    shared: JobQueue, name: str, args: tuple[object, ...], kind: str
) -> None:
    before = shared.submit(job("process_id"), "a").result(PATIENCE_S)
    with pytest.raises(JobFailed) as failed:
        shared.submit(job(name, *args), "a").result(PATIENCE_S)
    assert failed.value.type.endswith(kind)
    assert shared.submit(job("process_id"), "a").result(PATIENCE_S) == before


def test_arguments_that_cannot_travel_are_the_callers_error(shared: JobQueue) -> None:
    with pytest.raises(TypeError, match="pickle"):
        shared.submit(job("add", threading.Lock(), 1), "a")


def test_a_job_cannot_use_the_servers_input_and_output(shared: JobQueue, capfd: pytest.CaptureFixture[str]) -> None:
    with queue_with() as queue:  # a worker that was started under this test's output
        assert queue.submit(job("chatter"), "a").result(PATIENCE_S) == ""
    assert capfd.readouterr().out == ""


def test_result_waits_no_longer_than_asked(shared: JobQueue) -> None:
    handle = shared.submit(job("endless_steps"), "a")
    with pytest.raises(TimeoutError):
        handle.result(0.05)
    handle.cancel()

"""Workers end with the server process, however it ends, and outlive the thread that submitted their job."""

from __future__ import annotations

import contextlib
import signal
import subprocess
import sys
import threading
import time
from collections.abc import Iterator
from pathlib import Path

import pytest

from engine.service.job import Cancelled, Rejected
from engine.service.queue import JobQueue
from engine.service.slots import ROOT, WorkerSlot
from tests.cases import case
from tests.service.jobs import PATIENCE_S, STARTS, alive, job, soon, until


def test_closing_cancels_everything_and_leaves_no_process() -> None:
    queue = JobQueue([WorkerSlot("emulator", "one")])
    process_id = queue.submit(job("process_id"), "a").result(PATIENCE_S)
    if sys.platform == "linux":  # when memory runs out, it is killed before the server
        assert Path(f"/proc/{process_id}/oom_score_adj").read_text().strip() == "500"
    handles = [queue.submit(job("endless_loop", deadline=60), "a") for _ in range(3)]
    assert until(lambda: handles[0].position() == 0)
    start = time.monotonic()
    queue.close()
    assert soon(time.monotonic() - start)
    for handle in handles:
        with pytest.raises(Cancelled):
            handle.result(0)
    assert not alive(process_id)
    with pytest.raises(Rejected, match="closed"):
        queue.submit(job("add", 1, 1), "a")


def test_a_queue_outlives_the_thread_that_made_it() -> None:
    """A page's thread ends with the page, and PR_SET_PDEATHSIG kills a worker with the thread that started it."""
    made: list[tuple[JobQueue, int]] = []

    def page() -> None:
        queue = JobQueue([WorkerSlot("emulator", "plain")])
        made.append((queue, queue.submit(job("process_id"), "a").result(PATIENCE_S)))

    thread = threading.Thread(target=page)
    thread.start()
    thread.join()
    queue, process_id = made[0]
    time.sleep(0.2)
    assert queue.submit(job("process_id"), "a").result(PATIENCE_S) == process_id
    queue.close()


PARENT = """
import signal, sys, time
signal.signal(signal.SIGINT, signal.default_int_handler)  # a test run in the background ignores it
from engine.service.job import Job
from engine.service.queue import JobQueue
from engine.service.slots import WorkerSlot
queue = JobQueue([WorkerSlot("emulator", "plain")])
print(queue.submit(Job("tests.service.misbehaving:process_id"), "a").result(60), flush=True)
if sys.argv[1] != "idle":
    handle = queue.submit(Job("tests.service.misbehaving:" + sys.argv[1], deadline=60), "a")
    while handle.position():
        time.sleep(0.01)
    time.sleep(0.1)
print("busy", flush=True)
time.sleep(60)
"""


@contextlib.contextmanager
def parent(state: str) -> Iterator[tuple[subprocess.Popen[str], int, float]]:
    """Yield a process whose worker is in this state, the worker's id, and the seconds that "at once" may take.

    That is 10 s, or several times the duration of the start: on a busy machine both take longer. A process that wrongly
    waits for the job takes a minute.
    """
    began = time.monotonic()
    command = [sys.executable, "-c", PARENT, state]
    with subprocess.Popen(command, stdout=subprocess.PIPE, stderr=subprocess.DEVNULL, text=True, cwd=ROOT) as process:
        try:
            assert process.stdout is not None
            worker = int(process.stdout.readline())
            assert process.stdout.readline() == "busy\n"
            assert alive(worker)
            yield process, worker, min(50.0, max(10.0, STARTS * (time.monotonic() - began)))
        finally:
            process.kill()


@pytest.mark.parametrize(
    "state", [case(name, quick=name == "endless_loop") for name in ("idle", "endless_loop", "hang_in_c")]
)
def test_no_worker_outlives_a_killed_parent(state: str) -> None:
    with parent(state) as (process, worker, at_once_s):
        process.kill()
        assert until(lambda: not alive(worker), at_once_s)


def test_an_interrupted_parent_ends_at_once_with_its_worker() -> None:
    with parent("endless_loop") as (process, worker, at_once_s):
        process.send_signal(signal.SIGINT)
        process.wait(at_once_s)
        assert until(lambda: not alive(worker), at_once_s)

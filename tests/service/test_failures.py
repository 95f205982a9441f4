"""A harmful job ends with one sentence for its owner, and the next run starts soon."""

from __future__ import annotations

import os
import pickle
import signal
import time
from pathlib import Path

import pytest

from engine.machine import devices
from engine.records import NotRunnable, RunFailed
from engine.service import service
from engine.service.job import JobFailed, JobTimeout, WorkerDied
from engine.service.slots import WorkerSlot
from engine.service.worker import WATCHDOG_S
from tests.cases import case
from tests.service import misbehaving
from tests.service.jobs import JOBS, PATIENCE_S, SOON_S, alive, job, next_run_is_soon, queue_with, soon, until


@pytest.mark.parametrize(
    "name", [case(name, quick=name == "endless_loop") for name in ("endless_loop", "hang_in_c", "flood")]
)
def test_a_job_that_never_ends_is_stopped_at_its_deadline(name: str, capfd: pytest.CaptureFixture[str]) -> None:
    with queue_with() as queue:
        next_run_is_soon(queue)
        start = time.monotonic()
        with pytest.raises(JobTimeout, match=r"stopped after 0\.4 s"):
            queue.submit(job(name, deadline=0.4), "a").result(PATIENCE_S)
        took_s = time.monotonic() - start
        assert took_s >= 0.4 and soon(took_s, 1.5)
        next_run_is_soon(queue)


@pytest.mark.sampled(quick=3)
@pytest.mark.parametrize(
    ("name", "args", "code", "words"),
    [("leave", (3,), 3, "exit code 3"), ("leave", (0,), 0, "exit code 0"), ("read_address_zero", (), -11, "SIGSEGV")],
)
def test_a_crash_says_how(
    name: str, args: tuple[object, ...], code: int, words: str, capfd: pytest.CaptureFixture[str]
) -> None:
    with queue_with() as queue:
        with pytest.raises(WorkerDied, match=words) as died:
            queue.submit(job(name, *args), "a").result(PATIENCE_S)
        assert died.value.exit_code == code
        next_run_is_soon(queue)


def test_a_worker_that_dies_while_idle_is_replaced_before_the_next_run() -> None:
    with queue_with() as queue:
        first = queue.submit(job("process_id"), "a").result(PATIENCE_S)
        os.kill(first, signal.SIGKILL)
        assert queue.submit(job("process_id"), "a").result(PATIENCE_S) != first


def test_killing_a_job_kills_the_programs_that_it_started(tmp_path: Path) -> None:
    with queue_with() as queue:
        note = tmp_path / "pid"
        killed = queue.submit(job("start_program", str(note)), "a")
        assert until(lambda: note.exists() and note.read_text() != "")
        killed.cancel()
        assert until(lambda: not alive(int(note.read_text())))


def test_the_watchdog_ends_a_worker_that_nobody_kills(capfd: pytest.CaptureFixture[str]) -> None:
    slot = WorkerSlot("emulator", "plain")
    worker = slot._warm_worker(lambda: False)
    worker.connection.send(("job", pickle.dumps((f"{JOBS}:hang_in_c", (), {})), 0.2))
    start = time.monotonic()
    assert worker.process.wait(WATCHDOG_S + PATIENCE_S) == 1
    assert time.monotonic() - start > WATCHDOG_S
    slot.close()


def test_warming_up_is_not_charged_to_the_first_job() -> None:
    with queue_with(WorkerSlot("emulator", "slow", warm=f"{JOBS}:slow_warm")) as queue:
        assert queue.submit(job("add", 1, 1, deadline=misbehaving.SLOW_S - 0.2), "a").result(PATIENCE_S) == 2


def test_a_worker_that_cannot_warm_up_says_why() -> None:
    with queue_with(WorkerSlot("emulator", "broken", warm=f"{JOBS}:broken_warm")) as queue:
        for _ in range(2):
            with pytest.raises(JobFailed, match="no module of that name"):
                queue.submit(job("add", 1, 1), "a").result(PATIENCE_S)


def test_a_worker_with_an_unusable_cuda_context_is_replaced() -> None:
    text = "CUDA_ERROR_ILLEGAL_ADDRESS: an illegal memory access was encountered"
    with queue_with(WorkerSlot("gpu", "pretended GPU")) as queue:
        before = queue.submit(job("process_id"), "a").result(PATIENCE_S)
        with pytest.raises(RunFailed, match=r"outside every array.*\(CUDA_ERROR_ILLEGAL_ADDRESS\)") as failed:
            queue.submit(job("cuda_error", text, True), "a").result(PATIENCE_S)
        assert failed.value.status == "out-of-bounds"
        assert queue.submit(job("process_id"), "a").result(PATIENCE_S) != before


def test_a_harmless_cuda_error_keeps_the_worker() -> None:
    with queue_with(WorkerSlot("gpu", "pretended GPU")) as queue:
        before = queue.submit(job("process_id"), "a").result(PATIENCE_S)
        with pytest.raises(RunFailed, match=r"failed on the GPU: bad argument \(CUDA_ERROR_INVALID_VALUE\)"):
            queue.submit(job("cuda_error", "CUDA_ERROR_INVALID_VALUE: bad argument", False), "a").result(PATIENCE_S)
        with pytest.raises(NotRunnable, match="smaller N"):
            queue.submit(job("cuda_error", "cudaErrorMemoryAllocation: out of memory", False), "a").result(PATIENCE_S)
        assert queue.submit(job("process_id"), "a").result(PATIENCE_S) == before


@pytest.mark.gpu
def test_wild_pointers_and_endless_kernels_on_a_gpu(capfd: pytest.CaptureFixture[str]) -> None:
    fine = job("gpu_kernel", misbehaving.FINE, "fine", deadline=20, device="gpu")
    with queue_with(*service.slots_for(devices.gpus()[:1])) as queue:
        assert queue.submit(fine, "a").result(60) == 496
        with pytest.raises(RunFailed, match="outside every array"):
            queue.submit(job("gpu_kernel", misbehaving.ILLEGAL_READ, "wild", deadline=20), "a").result(60)
        start = time.monotonic()
        assert queue.submit(fine, "a").result(60) == 496
        after_wild = time.monotonic() - start
        with pytest.raises(JobTimeout):
            queue.submit(job("gpu_kernel", misbehaving.ENDLESS, "endless", deadline=2), "a").result(60)
        start = time.monotonic()
        assert queue.submit(fine, "a").result(60) == 496
        after_endless = time.monotonic() - start
    with capfd.disabled():
        print(f"\nnext run after a wild pointer {after_wild:.2f} s, after an endless kernel {after_endless:.2f} s")
    assert after_wild < SOON_S
    assert after_endless < SOON_S

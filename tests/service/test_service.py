"""The job queue, against real worker processes: whatever a job does costs its owner one sentence, and nobody else."""

from __future__ import annotations

import contextlib
import os
import pickle
import signal
import subprocess
import sys
import threading
import time
from collections.abc import Iterator
from pathlib import Path

import pytest

from engine.host import devices as gpus
from engine.host.devices import Gpu
from engine.records import Choice, CompileError, Measurement, NotRunnable, RunFailed
from engine.service import queue as job_queue
from engine.service import service
from engine.service.failures import Cancelled, JobFailed, JobTimeout, Rejected, WorkerDied
from engine.service.queue import Handle, Job, JobQueue
from engine.service.worker import WATCHDOG_S
from engine.service.worker_slot import ROOT, WorkerSlot
from tests.service import misbehaving

JOBS = "tests.service.misbehaving"
SOON_S = 2.0  # the next run starts within this after any failure
CHOICE = Choice("reduce_sequential", n=1000, block_size=128, device="emulator")


def job(name: str, *args: object, deadline: float = 5.0, key: str | None = None, device: str | None = None) -> Job:
    return Job(f"{JOBS}:{name}", args, deadline=deadline, key=key, device=device)


@contextlib.contextmanager
def queue_with(*slots: WorkerSlot) -> Iterator[JobQueue]:
    made = JobQueue(slots or (WorkerSlot("emulator", "plain"),))
    try:
        yield made
    finally:
        made.close()


@pytest.fixture(scope="module")
def shared() -> Iterator[JobQueue]:
    """One queue for the tests that leave it as they found it."""
    with queue_with() as made:
        yield made


def next_run_is_soon(queue: JobQueue) -> None:
    start = time.monotonic()
    assert queue.submit(job("add", 1, 2), "neighbour").result(10) == 3
    assert time.monotonic() - start < SOON_S


def until(condition: object, seconds: float = 5.0) -> bool:
    end = time.monotonic() + seconds
    while time.monotonic() < end:
        if condition():  # type: ignore[operator]
            return True
        time.sleep(0.02)
    return False


def alive(process_id: int) -> bool:
    try:
        state = Path(f"/proc/{process_id}/stat").read_text().rpartition(")")[2].split()[0]
    except (FileNotFoundError, ProcessLookupError):
        return False
    return state != "Z"


# What a job returns or raises


def test_a_value_comes_back(shared: JobQueue) -> None:
    assert shared.submit(job("add", 2, 3), "a").result(10) == 5


def test_the_job_runs_in_another_process_which_stays(shared: JobQueue) -> None:
    first = shared.submit(job("process_id"), "a").result(10)
    assert first == shared.submit(job("process_id"), "b").result(10) != os.getpid()


def test_a_large_value_comes_back(shared: JobQueue) -> None:
    assert len(shared.submit(job("large", 50_000_000), "a").result(10)) == 50_000_000


def test_keywords_reach_the_function(shared: JobQueue) -> None:
    assert shared.submit(Job(f"{JOBS}:add", (1,), keywords=(("b", 5),)), "a").result(10) == 6


def test_the_engines_exceptions_come_back_as_themselves(shared: JobQueue) -> None:
    with pytest.raises(NotRunnable, match="power of two"):
        shared.submit(job("fail", "NotRunnable"), "a").result(10)
    with pytest.raises(CompileError, match="line 3") as compile_error:
        shared.submit(job("fail", "CompileError"), "a").result(10)
    assert compile_error.value.log == "a.cu(3): error: expected a ;"
    assert compile_error.value.line == 3
    with pytest.raises(RunFailed, match="barrier") as run_failed:
        shared.submit(job("fail", "RunFailed"), "a").result(10)
    assert (run_failed.value.status, run_failed.value.line) == ("deadlock", 7)


def test_any_other_exception_comes_back_as_job_failed(shared: JobQueue) -> None:
    with pytest.raises(JobFailed, match=r"ZeroDivisionError: division by zero\.$") as failed:
        shared.submit(job("fail", "ZeroDivisionError"), "a").result(10)
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
def test_odd_endings_are_job_failed_too(shared: JobQueue, name: str, args: tuple[object, ...], kind: str) -> None:
    before = shared.submit(job("process_id"), "a").result(10)
    with pytest.raises(JobFailed) as failed:
        shared.submit(job(name, *args), "a").result(10)
    assert failed.value.type.endswith(kind)
    assert shared.submit(job("process_id"), "a").result(10) == before


def test_arguments_that_cannot_travel_are_the_callers_error(shared: JobQueue) -> None:
    with pytest.raises(TypeError, match="pickle"):
        shared.submit(job("add", threading.Lock(), 1), "a")


def test_a_job_cannot_read_our_input_nor_write_our_output(shared: JobQueue, capfd: pytest.CaptureFixture[str]) -> None:
    with queue_with() as queue:  # a worker that was started under this test's output
        assert queue.submit(job("chatter"), "a").result(10) == ""
    assert capfd.readouterr().out == ""


def test_result_waits_no_longer_than_asked(shared: JobQueue) -> None:
    handle = shared.submit(job("endless_steps"), "a")
    with pytest.raises(TimeoutError):
        handle.result(0.05)
    handle.cancel()


# Failures: one sentence for the owner, and the next run soon


@pytest.mark.parametrize("name", ["endless_loop", "hang_in_c", "flood"])
def test_a_job_that_never_ends_is_stopped_at_its_deadline(name: str, capfd: pytest.CaptureFixture[str]) -> None:
    with queue_with() as queue:
        next_run_is_soon(queue)
        start = time.monotonic()
        with pytest.raises(JobTimeout, match=r"stopped after 0\.4 s"):
            queue.submit(job(name, deadline=0.4), "a").result(10)
        assert 0.4 <= time.monotonic() - start < 1.5
        next_run_is_soon(queue)


@pytest.mark.parametrize(
    ("name", "args", "code", "words"),
    [("leave", (3,), 3, "exit code 3"), ("leave", (0,), 0, "exit code 0"), ("read_address_zero", (), -11, "SIGSEGV")],
)
def test_a_crash_says_how(
    name: str, args: tuple[object, ...], code: int, words: str, capfd: pytest.CaptureFixture[str]
) -> None:
    with queue_with() as queue:
        with pytest.raises(WorkerDied, match=words) as died:
            queue.submit(job(name, *args), "a").result(10)
        assert died.value.exit_code == code
        next_run_is_soon(queue)


def test_a_worker_that_dies_while_idle_costs_nobody_a_run() -> None:
    with queue_with() as queue:
        first = queue.submit(job("process_id"), "a").result(10)
        os.kill(first, signal.SIGKILL)
        assert queue.submit(job("process_id"), "a").result(10) != first


def test_a_killed_job_takes_its_own_programs_with_it(tmp_path: Path) -> None:
    with queue_with() as queue:
        note = tmp_path / "pid"
        with pytest.raises(JobTimeout):
            queue.submit(job("start_program", str(note), deadline=0.5), "a").result(10)
        assert until(lambda: not alive(int(note.read_text())))


def test_the_watchdog_ends_a_worker_that_nobody_kills(capfd: pytest.CaptureFixture[str]) -> None:
    slot = WorkerSlot("emulator", "plain")
    worker = slot._warm_worker(lambda: False)
    worker.connection.send(("job", pickle.dumps((f"{JOBS}:hang_in_c", (), {})), 0.2))
    start = time.monotonic()
    assert worker.process.wait(WATCHDOG_S + 3) == 1
    assert time.monotonic() - start > WATCHDOG_S
    slot.close()


def test_warming_up_is_not_charged_to_the_first_job() -> None:
    with queue_with(WorkerSlot("emulator", "slow", warm=f"{JOBS}:slow_warm")) as queue:
        assert queue.submit(job("add", 1, 1, deadline=0.5), "a").result(10) == 2


def test_a_worker_that_cannot_warm_up_says_why() -> None:
    with queue_with(WorkerSlot("emulator", "broken", warm=f"{JOBS}:broken_warm")) as queue:
        for _ in range(2):
            with pytest.raises(JobFailed, match="no module of that name"):
                queue.submit(job("add", 1, 1), "a").result(10)


def test_a_poisoned_cuda_context_is_replaced() -> None:
    text = "CUDA_ERROR_ILLEGAL_ADDRESS: an illegal memory access was encountered"
    with queue_with(WorkerSlot("gpu", "pretended GPU")) as queue:
        before = queue.submit(job("process_id"), "a").result(10)
        with pytest.raises(RunFailed, match=r"outside every array.*\(CUDA_ERROR_ILLEGAL_ADDRESS\)") as failed:
            queue.submit(job("cuda_error", text, True), "a").result(10)
        assert failed.value.status == "out-of-bounds"
        assert queue.submit(job("process_id"), "a").result(10) != before


def test_a_harmless_cuda_error_keeps_the_worker() -> None:
    with queue_with(WorkerSlot("gpu", "pretended GPU")) as queue:
        before = queue.submit(job("process_id"), "a").result(10)
        with pytest.raises(RunFailed, match=r"failed on the GPU: bad argument \(CUDA_ERROR_INVALID_VALUE\)"):
            queue.submit(job("cuda_error", "CUDA_ERROR_INVALID_VALUE: bad argument", False), "a").result(10)
        with pytest.raises(NotRunnable, match="smaller N"):
            queue.submit(job("cuda_error", "cudaErrorMemoryAllocation: out of memory", False), "a").result(10)
        assert queue.submit(job("process_id"), "a").result(10) == before


# Progress, cancel, position


def test_progress_is_seen_while_the_job_runs(shared: JobQueue) -> None:
    handle = shared.submit(job("steps", 8), "a")
    seen = set()
    while not handle.done.wait(0.005):
        seen.add(handle.progress)
    assert {text for _, text in seen} >= {f"step {step}" for step in range(8)}
    assert handle.progress == (1.0, "Done")
    assert handle.result(0) == 8


def test_cancelling_a_job_that_reports_progress_keeps_its_worker(shared: JobQueue) -> None:
    before = shared.submit(job("process_id"), "a").result(10)
    handle = shared.submit(job("endless_steps"), "a")
    assert until(lambda: handle.progress[1] == "going on")
    handle.cancel()
    with pytest.raises(Cancelled):
        handle.result(0)
    assert shared.submit(job("process_id"), "a").result(10) == before


@pytest.mark.parametrize("name", ["endless_loop", "hang_in_c"])
def test_cancelling_a_job_that_does_not_listen_kills_it(name: str) -> None:
    with queue_with() as queue:
        before = queue.submit(job("process_id"), "a").result(10)
        handle = queue.submit(job(name, deadline=60), "a")
        assert until(lambda: handle.position() == 0)
        handle.cancel()
        assert handle.done.is_set()
        next_run_is_soon(queue)
        assert queue.submit(job("process_id"), "a").result(10) != before


def test_cancelling_a_waiting_job_means_that_it_never_runs(shared: JobQueue, tmp_path: Path) -> None:
    door, trace = tmp_path / "door", tmp_path / "trace"
    first = shared.submit(job("gate", str(door)), "a")
    waiting = shared.submit(job("mark", str(trace), "x"), "a")
    waiting.cancel()
    door.touch()
    first.result(10)
    shared.submit(job("add", 1, 1), "a").result(10)
    assert waiting.done.is_set()
    assert not trace.exists()


def test_cancelling_after_the_end_changes_nothing(shared: JobQueue) -> None:
    handle = shared.submit(job("add", 1, 1), "a")
    assert handle.result(10) == 2
    handle.cancel()
    assert handle.result(0) == 2


def test_sessions_take_turns_and_positions_say_so(shared: JobQueue, tmp_path: Path) -> None:
    door, trace = tmp_path / "door", tmp_path / "trace"
    first = shared.submit(job("gate", str(door)), "z")
    assert until(lambda: first.position() == 0)
    words = [("a", "a0"), ("a", "a1"), ("a", "a2"), ("b", "b0"), ("b", "b1"), ("c", "c0")]
    handles = {word: shared.submit(job("mark", str(trace), word), session) for session, word in words}
    expected = ["a0", "b0", "c0", "a1", "b1", "a2"]
    assert {word: handle.position() for word, handle in handles.items()} == {
        word: place for place, word in enumerate(expected, 1)
    }
    assert handles["a0"].progress == (0.0, "Next in the queue")
    assert handles["c0"].progress == (0.0, "In the queue, 2 runs ahead")
    door.touch()
    for handle in handles.values():
        handle.result(10)
    assert trace.read_text().split() == expected


def test_supersede_gives_up_the_sessions_other_jobs(shared: JobQueue, tmp_path: Path) -> None:
    door = tmp_path / "door"
    first = shared.submit(job("gate", str(door)), "z")
    old, other = shared.submit(job("add", 1, 1), "a"), shared.submit(job("add", 2, 2), "b")
    new = shared.submit(job("add", 3, 3), "a", supersede=True)
    door.touch()
    with pytest.raises(Cancelled):
        old.result(10)
    assert (new.result(10), other.result(10)) == (6, 4)
    first.result(10)


def test_superseding_with_the_same_job_goes_on_with_its_run(shared: JobQueue, tmp_path: Path) -> None:
    trace = tmp_path / "trace"
    same = job("slow_mark", str(trace), "x", 0.2, key="superseded")
    old = shared.submit(same, "a")
    new = shared.submit(same, "a", supersede=True)
    with pytest.raises(Cancelled):
        old.result(10)
    assert new.result(10) == "x"
    assert trace.read_text() == "x\n"


# Shared and kept runs


def test_identical_jobs_share_one_run(shared: JobQueue, tmp_path: Path) -> None:
    trace = tmp_path / "trace"
    handles = [shared.submit(job("slow_mark", str(trace), "x", 0.2, key="joined"), f"s{i}") for i in range(30)]
    assert {handle.result(10) for handle in handles} == {"x"}
    assert trace.read_text() == "x\n"
    assert not any(handle.kept for handle in handles)


def test_a_finished_value_is_kept_unless_a_fresh_one_is_asked_for(shared: JobQueue, tmp_path: Path) -> None:
    trace = tmp_path / "trace"
    same = job("mark", str(trace), "x", key="kept")
    assert shared.submit(same, "a").result(10) == "x"
    again = shared.submit(same, "b")
    assert again.kept
    assert again.done.is_set()
    assert again.result(0) == "x"
    assert again.finished_utc is not None
    assert trace.read_text() == "x\n"
    assert shared.submit(same, "b", fresh=True).result(10) == "x"
    assert trace.read_text() == "x\nx\n"


def test_failures_are_not_kept(shared: JobQueue) -> None:
    for _ in range(2):
        handle = shared.submit(job("fail", "NotRunnable", key="failure"), "a")
        with pytest.raises(NotRunnable):
            handle.result(10)
        assert not handle.kept


def test_a_shared_run_ends_only_with_its_last_holder(shared: JobQueue, tmp_path: Path) -> None:
    door = tmp_path / "door"
    first, second = (shared.submit(job("gate", str(door), key="two holders"), name) for name in "ab")
    assert until(lambda: first.position() == 0)
    first.cancel()
    with pytest.raises(Cancelled):
        first.result(0)
    assert not second.done.is_set()
    door.touch()
    assert second.result(10) > 0
    last = shared.submit(job("endless_steps", key="one holder"), "a")
    last.cancel()
    again = shared.submit(job("endless_steps", key="one holder"), "b")  # not joined to a run that is being stopped
    assert until(lambda: again.progress[1] == "going on")
    again.cancel()


def test_kept_values_are_bounded(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(job_queue, "KEPT_BYTES", 80_000)
    with queue_with() as queue:
        for index in range(12):
            queue.submit(job("large", 9_000, key=f"k{index}"), "a").result(10)
        queue.submit(job("large", 20_000, key="too large"), "a").result(10)
        assert not queue.submit(job("large", 20_000, key="too large"), "a").kept
        assert queue.submit(job("large", 9_000, key="k11"), "a").kept
        assert not queue.submit(job("large", 9_000, key="k0"), "a").kept


# Limits and many sessions


def test_a_full_queue_rejects(shared: JobQueue, monkeypatch: pytest.MonkeyPatch, tmp_path: Path) -> None:
    monkeypatch.setattr(job_queue, "SESSION_LIMIT", 3)
    monkeypatch.setattr(job_queue, "QUEUE_LIMIT", 5)
    door = tmp_path / "door"
    first = shared.submit(job("gate", str(door)), "z")
    assert until(lambda: first.position() == 0)
    handles = [shared.submit(job("add", 1, 1), session) for session in "aaabb"]
    with pytest.raises(Rejected, match="You already have 3 runs"):
        shared.submit(job("add", 1, 1), "a")
    with pytest.raises(Rejected, match="The queue is full"):
        shared.submit(job("add", 1, 1), "c")
    door.touch()
    assert [handle.result(10) for handle in handles] == [2] * 5
    assert shared.submit(job("add", 1, 1), "a").result(10) == 2


def test_fifty_sessions_at_once_where_a_third_crash(capfd: pytest.CaptureFixture[str]) -> None:
    outcomes: dict[int, object] = {}

    def session(number: int, queue: JobQueue) -> None:
        bad = number % 3 == 0
        handle = queue.submit(job("leave", 7) if bad else job("add", number, 1), f"session {number}")
        try:
            outcomes[number] = handle.result(60)
        except WorkerDied as died:
            outcomes[number] = died.exit_code

    with queue_with(WorkerSlot("emulator", "one"), WorkerSlot("emulator", "two")) as queue:
        threads = [threading.Thread(target=session, args=(number, queue)) for number in range(50)]
        for thread in threads:
            thread.start()
        for thread in threads:
            thread.join()
    assert outcomes == {number: 7 if number % 3 == 0 else number + 1 for number in range(50)}


def test_jobs_go_to_slots_of_their_device() -> None:
    slots = [WorkerSlot(kind, kind, environment={"SLOT": kind}) for kind in ("gpu", "emulator")]
    with queue_with(*slots) as queue:
        handles = {kind: queue.submit(job("environment", "SLOT", device=kind), "a") for kind in ("emulator", "gpu")}
        assert {kind: handle.result(10) for kind, handle in handles.items()} == {"emulator": "emulator", "gpu": "gpu"}
    with queue_with() as queue, pytest.raises(Rejected, match="no gpu"):
        queue.submit(job("add", 1, 1, device="gpu"), "a")


def test_a_worker_can_be_nice() -> None:
    with queue_with(WorkerSlot("emulator", "nice", nice=5)) as queue:
        assert queue.submit(job("niceness"), "a").result(10) == min(19, os.nice(0) + 5)


# The end


def test_closing_cancels_everything_and_leaves_no_process() -> None:
    queue = JobQueue([WorkerSlot("emulator", "one")])
    process_id = queue.submit(job("process_id"), "a").result(10)
    handles = [queue.submit(job("endless_loop", deadline=60), "a") for _ in range(3)]
    assert until(lambda: handles[0].position() == 0)
    start = time.monotonic()
    queue.close()
    assert time.monotonic() - start < 2
    for handle in handles:
        with pytest.raises(Cancelled):
            handle.result(0)
    assert not alive(process_id)
    with pytest.raises(Rejected, match="closed"):
        queue.submit(job("add", 1, 1), "a")


def test_a_queue_outlives_the_thread_that_made_it() -> None:
    """A page's script thread ends with the page; PR_SET_PDEATHSIG follows the thread that started the worker."""
    made: list[tuple[JobQueue, int]] = []

    def page() -> None:
        queue = JobQueue([WorkerSlot("emulator", "plain")])
        made.append((queue, queue.submit(job("process_id"), "a").result(10)))

    thread = threading.Thread(target=page)
    thread.start()
    thread.join()
    queue, process_id = made[0]
    time.sleep(0.2)
    assert queue.submit(job("process_id"), "a").result(10) == process_id
    queue.close()


PARENT = """
import sys, time
from engine.service.queue import Job, JobQueue
from engine.service.worker_slot import WorkerSlot
queue = JobQueue([WorkerSlot("emulator", "plain")])
print(queue.submit(Job("tests.service.misbehaving:process_id"), "a").result(10), flush=True)
if sys.argv[1] != "idle":
    handle = queue.submit(Job("tests.service.misbehaving:" + sys.argv[1], deadline=60), "a")
    while handle.position():
        time.sleep(0.01)
    time.sleep(0.1)
print("busy", flush=True)
time.sleep(60)
"""


@pytest.mark.parametrize("state", ["idle", "endless_loop", "hang_in_c"])
def test_no_worker_outlives_a_killed_parent(state: str) -> None:
    with subprocess.Popen([sys.executable, "-c", PARENT, state], stdout=subprocess.PIPE, text=True, cwd=ROOT) as parent:
        assert parent.stdout is not None
        process_id = int(parent.stdout.readline())
        assert parent.stdout.readline() == "busy\n"
        assert alive(process_id)
        parent.kill()
        assert until(lambda: not alive(process_id), 2.0)


def test_an_interrupted_parent_ends_at_once_with_its_worker() -> None:
    with subprocess.Popen(
        [sys.executable, "-c", PARENT, "endless_loop"],
        stdout=subprocess.PIPE,
        stderr=subprocess.DEVNULL,
        text=True,
        cwd=ROOT,
    ) as parent:
        assert parent.stdout is not None
        process_id = int(parent.stdout.readline())
        assert parent.stdout.readline() == "busy\n"
        parent.send_signal(signal.SIGINT)
        parent.wait(2.0)
        assert until(lambda: not alive(process_id), 2.0)


# What the pages call


def test_the_web_process_never_imports_cupy() -> None:
    code = (
        "import sys, engine.service.service as s; s.device_summary(); s.connect().close(); print('cupy' in sys.modules)"
    )
    assert subprocess.check_output([sys.executable, "-c", code], cwd=ROOT, text=True) == "False\n"


ONE, TWO = Gpu("NVIDIA H200", "GPU-aaaa", "580.1"), Gpu("NVIDIA H200", "GPU-abbb", "580.1")


@pytest.mark.parametrize(
    ("setting", "expected"),
    [(None, (ONE, TWO)), ("1,0", (TWO, ONE)), ("", ()), ("-1", ()), ("0,7,1", (ONE,)), ("GPU-ab", (TWO,)),
     ("GPU-a", ()), ("1,1", (TWO,))],
)  # fmt: skip
def test_cuda_visible_devices_is_obeyed(setting: str | None, expected: tuple[Gpu, ...]) -> None:
    assert gpus.visible((ONE, TWO), setting) == expected


def test_device_summary_in_words(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(gpus, "gpus", lambda: (ONE, TWO))
    assert gpus.device_summary() == "2 x NVIDIA H200, driver 580.1"
    monkeypatch.setattr(gpus, "gpus", lambda: (ONE,))
    assert gpus.device_summary() == "NVIDIA H200, driver 580.1"
    monkeypatch.setattr(gpus, "gpus", lambda: ())
    assert gpus.device_summary() == "no GPU"


def test_the_device_is_settled_before_the_run(monkeypatch: pytest.MonkeyPatch) -> None:
    auto, gpu = (Choice("reduce_sequential", 1000, 128, device=device) for device in ("auto", "gpu"))
    monkeypatch.setattr(gpus, "gpus", lambda: (ONE,))
    assert (service.resolve(auto).device, service.resolve(gpu).device) == ("gpu", "gpu")
    monkeypatch.setattr(gpus, "gpus", lambda: ())
    assert service.resolve(auto).device == "emulator"
    with pytest.raises(NotRunnable, match="no GPU"):
        service.resolve(gpu)
    with pytest.raises(NotRunnable, match="no device 'tpu'"):
        service.resolve(Choice("reduce_sequential", 1000, 128, device="tpu"))


def test_one_slot_a_gpu_and_one_for_the_emulator() -> None:
    slots = service.slots_for((ONE, TWO))
    assert [(slot.device, slot.name) for slot in slots] == [("gpu", "NVIDIA H200")] * 2 + [("emulator", "emulator")]
    for slot in slots:
        slot.close()


@pytest.mark.parametrize(
    ("name", "args", "status", "reason", "log"),
    [
        ("fail", ("NotRunnable",), "refused", "Choose a block size that is a power of two.", None),
        ("fail", ("CompileError",), "compile-error", "does not compile: line 3", "a.cu(3): error: expected a ;"),
        ("fail", ("RunFailed",), "deadlock", "Line 7: a barrier", None),
        ("fail", ("ZeroDivisionError",), "crashed", "division by zero", "Traceback"),
        ("endless_loop", (), "timeout", "stopped after 0.3 s", None),
        ("leave", (3,), "crashed", "crashed its process (exit code 3)", None),
    ],
)
def test_every_failure_is_a_record(
    shared: JobQueue, name: str, args: tuple[object, ...], status: str, reason: str, log: str | None
) -> None:
    handle = shared.submit(job(name, *args, deadline=0.3 if name == "endless_loop" else 5.0, device="emulator"), "a")
    measurement = service.measurement_of(handle, CHOICE)
    assert isinstance(measurement, Measurement)
    assert measurement.status == status
    assert measurement.reason is not None
    assert reason in measurement.reason
    assert log is None or log in (measurement.log or "")
    assert (measurement.kernel, measurement.n, measurement.time_us) == (CHOICE.kernel, CHOICE.n, None)
    assert measurement.device["kind"] == "emulator"


def test_a_cancelled_run_is_a_record_too(shared: JobQueue) -> None:
    handle = shared.submit(job("endless_steps", device="emulator"), "a")
    handle.cancel()
    measurement = service.measurement_of(handle, CHOICE)
    assert (measurement.status, measurement.reason) == ("refused", "The run was cancelled.")


def test_a_choice_runs_on_the_emulator_and_is_kept() -> None:
    handles: list[Handle] = [service.submit(CHOICE, name) for name in ("a", "b")]
    try:
        first, second = (service.measurement_of(handle, CHOICE) for handle in handles)
        assert first.status == "ok", first.reason
        assert first == second
        again = service.submit(CHOICE, "c")
        assert again.kept
        assert any(badge.startswith("kept from") for badge in service.measurement_of(again, CHOICE).badges)
        with pytest.raises(NotRunnable, match="no kernel named"):
            service.submit(Choice("reduce_nothing", 1000, 128), "a")
    finally:
        service.disconnect()


# On a GPU


@pytest.mark.gpu
def test_wild_pointers_and_endless_kernels_on_a_gpu(capfd: pytest.CaptureFixture[str]) -> None:
    fine = job("gpu_kernel", misbehaving.FINE, "fine", deadline=20, device="gpu")
    with queue_with(*service.slots_for(gpus.gpus()[:1])) as queue:
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

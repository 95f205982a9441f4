"""Worker slots: each runs one job at a time, in a worker process that it watches and replaces."""

from __future__ import annotations

import contextlib
import os
import signal
import socket
import subprocess
import sys
import time
from collections.abc import Callable, Mapping, Sequence
from multiprocessing.connection import Connection, wait
from typing import Any, Protocol

from engine.machine.devices import HostGpu, cores, memory_bytes
from engine.records import Progress
from engine.records.shipped import ROOT
from engine.service.job import Cancelled, JobFailed, JobTimeout, Outcome, WorkerDied

START_S = 60.0  # until a worker must be ready: a first import of CuPy from a cold disk takes 10 s
REAP_S = 5.0  # SIGKILL ends a process with an endless kernel in 0.1 s on an H200
STOP_S = 0.25  # until a cancelled job must stop by itself; then its worker is killed
EMULATOR_NICE = 5  # the emulator shares the cores with the web server, which must respond quickly
EMULATED_BYTES = 5 << 28  # memory of a worker during the largest run: 2^26 doubles take 1.21 GB


class Slot(Protocol):
    """A place that runs a queue's jobs one at a time, here or on another host.

    `device`: "gpu" or "emulator". `name`: the model of a GPU. `host`: the computer's name. One long-lived thread calls
    `start`, `run` and `close`; any thread may call `interrupt`.
    """

    device: str
    name: str
    host: str

    def start(self) -> None:
        """Prepare for a job. Returns at once."""

    def run(
        self,
        job: bytes,
        deadline_s: float,
        progress: Progress,
        cancelled: Callable[[], bool],
        session: str,
        urgent: bool,
    ) -> Outcome:
        """Run one pickled (function, arguments, keywords). Returns when it has ended, was killed or is `cancelled()`.
        `session`, `urgent`: for a host that has a queue of its own."""

    def interrupt(self) -> None:
        """Make `run` check `cancelled()` now."""

    def close(self) -> None:
        """Take no more jobs."""


class _Worker:
    """A worker process and our end of its socket. It ends with the thread that starts it: see PR_SET_PDEATHSIG."""

    def __init__(self, arguments: list[str], environment: Mapping[str, str]) -> None:
        ours, theirs = socket.socketpair()
        with theirs:
            self.process = subprocess.Popen(
                [sys.executable, "-m", "engine.service.worker", "--socket", str(theirs.fileno()), *arguments],
                stdin=subprocess.PIPE,  # never written to: its end tells the worker that the server has ended
                stdout=subprocess.DEVNULL,
                pass_fds=(theirs.fileno(),),
                env={**os.environ, "PYTHONPATH": _python_path(), **environment},
                start_new_session=True,  # Ctrl-C reaches the server only; a kill reaches the job's children
            )
        self.connection: Connection[Any, Any] = Connection(ours.detach())
        self.give_up = time.monotonic() + START_S
        self.ready = False

    def kill(self) -> int | None:
        """Kill the process and its children. Returns its exit code; None if SIGKILL has not ended it yet."""
        with contextlib.suppress(ProcessLookupError, PermissionError):
            os.killpg(self.process.pid, signal.SIGKILL)
        with contextlib.suppress(subprocess.TimeoutExpired):
            self.process.wait(REAP_S)
        self.connection.close()
        if self.process.stdin:
            self.process.stdin.close()
        return self.process.returncode


class WorkerSlot:
    """A `Slot` of this computer: one worker process at a time, restarted when it dies.

    `name`: the model of a GPU, or what users call the slot. `warm`: "module:function" that a new worker calls before it
    is ready, outside any deadline. `environment`: set before the worker imports anything.
    """

    def __init__(
        self,
        device: str,
        name: str,
        *,
        warm: str | None = None,
        environment: Mapping[str, str] | None = None,
        nice: int = 0,
    ) -> None:
        self.device, self.name, self.host = device, name, socket.gethostname()
        self._arguments = ["--device", device, "--nice", str(nice), *(["--warm", warm] if warm else [])]
        self._environment = dict(environment or {})
        self._worker: _Worker | None = None
        self._wake, self._waker = socket.socketpair()
        self._wake.setblocking(False)
        self._waker.setblocking(False)

    def start(self) -> None:
        """Start a worker unless one is alive. Returns at once, before the worker is warm."""
        if self._worker and self._worker.process.poll() is not None:
            self._kill()
        if not self._worker:
            self._worker = _Worker(self._arguments, self._environment)

    def run(
        self,
        job: bytes,
        deadline_s: float,
        progress: Progress,
        cancelled: Callable[[], bool],
        session: str = "",
        urgent: bool = False,
    ) -> Outcome:
        """Run one pickled (function, arguments, keywords), until it has ended, was killed or is `cancelled()`."""
        try:
            return self._run(job, deadline_s, progress, cancelled)
        except Exception as failure:
            return Outcome.failure(failure)

    def interrupt(self) -> None:
        """Make `run` check `cancelled()` now."""
        with contextlib.suppress(OSError):  # a full buffer wakes it as well; a closed socket means that nothing runs
            self._waker.send(b"!")

    def close(self) -> None:
        """End the worker."""
        self._kill()
        self._wake.close()
        self._waker.close()

    def _run(self, job: bytes, deadline_s: float, progress: Progress, cancelled: Callable[[], bool]) -> Outcome:
        for attempt in (1, 2):
            worker = self._warm_worker(cancelled)
            try:
                worker.connection.send(("job", job, deadline_s))
                self._receive(worker, time.monotonic() + deadline_s, _never)  # "started"
                break
            except OSError as error:
                # The worker died while it was idle, which is not the job's fault: a new worker gets the job.
                exit_code = self._kill()
                if attempt == 2:
                    raise WorkerDied(exit_code) from error
        end = time.monotonic() + deadline_s
        stopping = False
        while True:
            try:
                message = self._receive(worker, end, _never if stopping else cancelled)
                if message[0] == "progress":
                    progress(*message[1:])
                    if time.monotonic() > end:  # an endless stream of messages must not hide the deadline
                        raise TimeoutError
                elif message[0] == "done":
                    outcome = Outcome(message[1], worker.connection.recv_bytes())
                    if message[2]:
                        self._kill()
                    return outcome
            except Cancelled:
                # A job that reports progress stops at its next report, and its worker stays warm.
                stopping, end = True, min(end, time.monotonic() + STOP_S)
                with contextlib.suppress(OSError):
                    worker.connection.send(("stop",))
            except TimeoutError:
                self._kill()
                raise Cancelled if stopping else JobTimeout(deadline_s) from None
            except OSError as error:
                raise WorkerDied(self._kill()) from error

    def _warm_worker(self, cancelled: Callable[[], bool]) -> _Worker:
        """Return a worker that is ready; start one if needed. Cancelled, WorkerDied, or the error of warming up."""
        self.start()
        worker = self._worker
        assert worker is not None
        while not worker.ready:
            try:
                _, trouble = self._receive(worker, worker.give_up, cancelled)
            except TimeoutError:
                self._kill()
                raise JobFailed("TimeoutError", f"no worker was ready within {START_S:g} s", "") from None
            except OSError as error:
                raise WorkerDied(self._kill()) from error
            if trouble is not None:
                self._kill()
                Outcome(False, trouble).value()
            worker.ready = True
        return worker

    def _receive(self, worker: _Worker, end: float, cancelled: Callable[[], bool]) -> tuple[Any, ...]:
        """Return the worker's next message. TimeoutError at `end`, Cancelled, or OSError if the worker died."""
        while True:
            if cancelled():
                raise Cancelled
            ready = wait([worker.connection, self._wake], max(0.0, end - time.monotonic()))
            if not ready:
                raise TimeoutError
            if self._wake in ready:
                with contextlib.suppress(BlockingIOError):
                    self._wake.recv(4096)
            if worker.connection in ready:
                try:
                    return tuple(worker.connection.recv())
                except EOFError:
                    raise ConnectionResetError from None

    def _kill(self) -> int | None:
        worker, self._worker = self._worker, None
        return worker.kill() if worker else None


def slots_for(found: Sequence[HostGpu], emulators: int | None = None) -> list[WorkerSlot]:
    """Return a slot for each GPU and `emulators` slots for the emulator, which see no GPU; None: as many as fit this
    computer. No worker is started yet."""
    if emulators is None:
        emulators = emulator_count(cores(), memory_bytes())
    gpu_slots = [
        WorkerSlot(
            "gpu", gpu.name, warm="engine.service.worker:warm_gpu", environment={"CUDA_VISIBLE_DEVICES": gpu.uuid}
        )
        for gpu in found
    ]
    emulator_slots = [
        WorkerSlot(
            "emulator",
            "emulator",
            warm="engine.service.worker:warm_emulator",
            environment={"CUDA_VISIBLE_DEVICES": ""},
            nice=EMULATOR_NICE,
        )
        for _ in range(emulators)
    ]
    return gpu_slots + emulator_slots


def emulator_count(cores: int, memory: int) -> int:
    """Return how many emulators a computer has: one more than cores, as far as each has memory for the largest run.

    With one more, short runs go on beside as many long ones as there are cores: Linux shares the cores among them.
    """
    return max(1, min(cores + 1, memory // EMULATED_BYTES))


def _never() -> bool:
    return False


def _python_path() -> str:
    """Return the PYTHONPATH by which a worker imports this engine, from whatever folder the server was started."""
    return os.pathsep.join(filter(None, (str(ROOT), os.environ.get("PYTHONPATH"))))

"""A worker slot: one worker process, watched and replaced. One job at a time, each with a deadline."""

from __future__ import annotations

import contextlib
import os
import signal
import socket
import subprocess
import sys
import time
from collections.abc import Callable, Mapping
from math import inf
from multiprocessing.connection import Connection, wait
from pathlib import Path
from typing import Any

from engine.records import Progress
from engine.service.failures import Cancelled, JobFailed, JobTimeout, WorkerDied
from engine.service.slot import NOBODY, Asker, Outcome

START_S = 60.0  # a worker that is not ready by then is given up: a first import of CuPy from a cold disk takes 10 s
REAP_S = 5.0  # SIGKILL ends a process with an endless kernel in 0.1 s on an H200
STOP_S = 0.25  # how long a job may take to notice that it was cancelled before its worker is killed
ROOT = Path(__file__).parents[2]


class _Worker:
    """The process and our end of its socket. Only the thread that starts it may outlive it: see PR_SET_PDEATHSIG."""

    def __init__(self, arguments: list[str], environment: Mapping[str, str]) -> None:
        ours, theirs = socket.socketpair()
        with theirs:
            self.process = subprocess.Popen(
                [sys.executable, "-m", "engine.service.worker", "--socket", str(theirs.fileno()), *arguments],
                stdin=subprocess.PIPE,  # never written to: its end tells the worker that we are gone
                stdout=subprocess.DEVNULL,
                pass_fds=(theirs.fileno(),),
                env={**os.environ, "PYTHONPATH": _python_path(), **environment},
                start_new_session=True,  # Ctrl-C in a terminal is ours to handle; a kill reaches the job's children
            )
        self.connection: Connection[Any, Any] = Connection(ours.detach())
        self.give_up = time.monotonic() + START_S
        self.ready = False

    def kill(self) -> int | None:
        """End the process and whatever it started; returns its exit code, None if even SIGKILL did not help yet."""
        with contextlib.suppress(ProcessLookupError, PermissionError):
            os.killpg(self.process.pid, signal.SIGKILL)
        with contextlib.suppress(subprocess.TimeoutExpired):
            self.process.wait(REAP_S)
        self.connection.close()
        if self.process.stdin:
            self.process.stdin.close()
        return self.process.returncode


class WorkerSlot:
    """One worker process at a time, and what is needed to start the next.

    A `Slot` of this computer. `name`: what users call it; of a GPU that is its model. `warm`: "module:function" called
    in a fresh worker before it is ready, outside any deadline. `environment`: set before the worker imports anything.
    `most_s`: as `Slot` has it.
    """

    def __init__(
        self,
        device: str,
        name: str,
        *,
        warm: str | None = None,
        environment: Mapping[str, str] | None = None,
        nice: int = 0,
        most_s: float = inf,
    ) -> None:
        self.device, self.name, self.host, self.most_s = device, name, socket.gethostname(), most_s
        self._arguments = ["--device", device, "--nice", str(nice), *(["--warm", warm] if warm else [])]
        self._environment = dict(environment or {})
        self._worker: _Worker | None = None
        self._wake, self._waker = socket.socketpair()
        self._wake.setblocking(False)
        self._waker.setblocking(False)

    def start(self) -> None:
        """Start a worker unless one lives. Returns at once; the worker warms up by itself."""
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
        asker: Asker = NOBODY,
    ) -> Outcome:
        """Run one pickled (function, arguments, keywords). Returns when it ended, was killed or was `cancelled()`."""
        try:
            return self._run(job, deadline_s, progress, cancelled)
        except Exception as failure:
            return Outcome.failure(failure)

    def interrupt(self) -> None:
        """Make `run` look at `cancelled()` now."""
        with contextlib.suppress(OSError):  # a full buffer wakes just as well; closed means that nothing runs
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
                self._message(worker, time.monotonic() + deadline_s, _never)  # "started"
                break
            except OSError as error:
                # The worker died while it was idle. That is not this job's doing: it goes to a fresh one.
                exit_code = self._kill()
                if attempt == 2:
                    raise WorkerDied(exit_code) from error
        end = time.monotonic() + deadline_s
        stopping = False
        while True:
            try:
                message = self._message(worker, end, _never if stopping else cancelled)
                if message[0] == "progress":
                    progress(*message[1:])
                    if time.monotonic() > end:  # messages without a pause must not hide the deadline
                        raise TimeoutError
                elif message[0] == "done":
                    outcome = Outcome(message[1], worker.connection.recv_bytes())
                    if message[2]:
                        self._kill()
                    return outcome
            except Cancelled:
                # A job that reports progress stops there, and its worker stays warm.
                stopping, end = True, min(end, time.monotonic() + STOP_S)
                with contextlib.suppress(OSError):
                    worker.connection.send(("stop",))
            except TimeoutError:
                self._kill()
                raise Cancelled if stopping else JobTimeout(deadline_s) from None
            except OSError as error:
                raise WorkerDied(self._kill()) from error

    def _warm_worker(self, cancelled: Callable[[], bool]) -> _Worker:
        """A worker that is ready, started if need be. Cancelled, WorkerDied, or the exception that warming up met."""
        self.start()
        worker = self._worker
        assert worker is not None
        while not worker.ready:
            try:
                _, trouble = self._message(worker, worker.give_up, cancelled)
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

    def _message(self, worker: _Worker, end: float, cancelled: Callable[[], bool]) -> tuple[Any, ...]:
        """The worker's next message. TimeoutError at `end`, Cancelled, or another OSError when the worker died."""
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


def _never() -> bool:
    return False


def _python_path() -> str:
    """Where the worker finds this very engine, from whatever folder the server was started."""
    return os.pathsep.join(filter(None, (str(ROOT), os.environ.get("PYTHONPATH"))))

"""The worker process: a separate program that runs one job at a time and answers over an inherited socket.

    python -m engine.service.worker --socket FD --device gpu|emulator [--warm module:function] [--nice N]

`engine.service.slots` starts it. It is not a `multiprocessing` child, which would execute the dashboard's script again.
A job is the name of a function, its arguments and a deadline; the name crosses the process boundary, so the server need
not import the function. A job that never ends, holds the interpreter's lock, writes through a wild pointer or corrupts
the CUDA context harms this process only, which is then replaced.

Messages to the worker: ("job", pickled (function, arguments, keywords), deadline_s), ("stop",).
Messages from the worker: ("ready", None or pickled exception), ("started",), ("progress", fraction, text),
("done", ok, replace_me) followed by the bytes of the pickled value or exception.
"""

from __future__ import annotations

import argparse
import contextlib
import ctypes
import faulthandler
import importlib
import inspect
import os
import pickle
import signal
import sys
import threading
import traceback
from collections.abc import Callable
from multiprocessing.connection import Connection
from pathlib import Path
from typing import Any

from engine.backends.cuda_failures import cuda_failure
from engine.records import CompileError, NotRunnable, RunFailed
from engine.service.job import CHECKING, Cancelled, JobFailed

WATCHDOG_S = 2.0  # after the deadline the worker ends itself, if its slot has not killed it
PR_SET_PDEATHSIG = 1  # from <linux/prctl.h>


class _Stop(BaseException):
    """Raised inside a job, when it reports progress, after the job was cancelled."""


def main(arguments: list[str] | None = None) -> None:
    """Serve jobs until the parent closes the socket or ends."""
    parser = argparse.ArgumentParser(
        prog="python -m engine.service.worker", description="Serves jobs; started by the engine."
    )
    parser.add_argument("--socket", type=int, required=True)
    parser.add_argument("--device", required=True)
    parser.add_argument("--warm")
    parser.add_argument("--nice", type=int, default=0)
    options = parser.parse_args(arguments)
    os.set_inheritable(options.socket, False)  # a program that a job starts must not inherit the socket
    _end_with_parent()
    _end_first()
    if options.nice:
        os.nice(options.nice)
    faulthandler.enable()
    connection: Connection[Any, Any] = Connection(options.socket)
    connection.send(("ready", _warmed(options.warm)))
    try:
        while True:
            message = connection.recv()
            if message[0] == "job":  # a "stop" here came after the end of its job
                _serve(connection, options.device, *message[1:])
    except (EOFError, OSError):
        os._exit(0)  # the parent has ended, and an orderly exit could wait for a GPU


def warm_gpu() -> None:
    """Import CuPy and the modules that measure, create the context and run a first kernel, before the first job."""
    import cupy

    if int(cupy.arange(32).sum()) != 496:
        raise RunFailed("crashed", "The GPU's sum of the numbers 0 to 31 is not 496.")
    importlib.import_module("engine.backends.measure")
    importlib.import_module("engine.backends.gpu.launches")
    importlib.import_module("engine.backends.timing.gpu")


def warm_emulator() -> None:
    """Import the emulator, the compiler and the modules that measure and check, while the compiler's process starts."""
    importlib.import_module("engine.compile.process").start()
    importlib.import_module("engine.backends.measure")
    importlib.import_module("engine.backends.emulator")
    importlib.import_module(CHECKING)
    importlib.import_module("engine.compile.nvrtc").include_folders()
    importlib.import_module("cupy_backends.cuda.libs.nvrtc")


def _serve(connection: Connection[Any, Any], device: str, job: bytes, deadline_s: float) -> None:
    """Run one job and answer. The watchdog is a C thread: it fires even if the job holds the interpreter's lock."""
    faulthandler.dump_traceback_later(deadline_s + WATCHDOG_S, exit=True)
    connection.send(("started",))
    try:
        function, arguments, keywords = pickle.loads(job)
        called = resolved(function)
        if "progress" in inspect.signature(called).parameters:
            keywords = {"progress": _reporter(connection), **keywords}
        ok, answer = True, pickle.dumps(called(*arguments, **keywords))
    except BaseException as error:  # SystemExit too: a job must not end its worker
        ok, answer = False, _pickled(error)
    replace_me = device == "gpu" and _poisoned()
    faulthandler.cancel_dump_traceback_later()
    connection.send(("done", ok, replace_me))
    connection.send_bytes(answer)


def resolved(function: str) -> Callable[..., Any]:
    """Return the function named "package.module:function". ImportError, AttributeError, TypeError: there is none."""
    module, _, name = function.partition(":")
    found = getattr(importlib.import_module(module), name)
    if not callable(found):
        raise TypeError(f"{function} is not a function")
    return found  # type: ignore[no-any-return]


def _reporter(connection: Connection[Any, Any]) -> Callable[[float, str], None]:
    """Return a job's `progress` function, which also stops a cancelled job, so its worker can go on."""
    last = (-1.0, "")

    def progress(fraction: float, text: str) -> None:
        nonlocal last
        if text != last[1] or abs(fraction - last[0]) >= 0.005:  # smaller steps are invisible in a progress bar
            last = (fraction, text)
            connection.send(("progress", float(fraction), str(text)))
        if connection.poll() and connection.recv()[0] == "stop":
            raise _Stop

    return progress


def _pickled(error: BaseException) -> bytes:
    """Pickle an exception for the caller: the engine's own as it is, any other as JobFailed."""
    if isinstance(error, _Stop):
        return pickle.dumps(Cancelled())
    answer: BaseException = error
    if not isinstance(error, NotRunnable | CompileError | RunFailed):
        words = "".join(traceback.format_exception(error)).rstrip()
        answer = cuda_failure(error) or JobFailed(type(error).__name__, str(error), words)
    try:
        return pickle.dumps(answer)
    except Exception as unpicklable:
        return pickle.dumps(JobFailed(type(error).__name__, str(error), repr(unpicklable)))


def _poisoned() -> bool:
    """Return whether the CUDA context is unusable, as it is after an illegal address."""
    cupy = sys.modules.get("cupy")
    try:
        if cupy is not None:
            cupy.cuda.runtime.deviceSynchronize()
    except Exception:
        return True
    return False


def _warmed(function: str | None) -> bytes | None:
    try:
        if function:
            resolved(function)()
    except BaseException as error:
        return _pickled(error)
    return None


def _end_with_parent() -> None:
    """Make this process end when its parent ends, whatever it is doing.

    On Linux the kernel kills it when the thread that started it ends. On other systems, or if the parent ended before
    prctl was called, a thread sees the end of standard input; a job that holds the lock is ended by the watchdog.
    """
    lifeline = os.dup(0)
    nothing = os.open(os.devnull, os.O_RDWR)
    os.dup2(nothing, 0)
    with contextlib.suppress(OSError):  # a server may have closed its standard error
        os.dup2(2, 1)  # a job's output belongs in the server's log, not in the caller's JSON
    os.close(nothing)
    if sys.platform == "linux":
        ctypes.CDLL(None, use_errno=True).prctl(PR_SET_PDEATHSIG, signal.SIGKILL)

    def watch() -> None:
        while os.read(lifeline, 4096):
            pass
        os._exit(0)

    threading.Thread(target=watch, name="lifeline", daemon=True).start()


def _end_first() -> None:
    """Make Linux kill this process and its children, not the server, when memory runs out."""
    with contextlib.suppress(OSError):
        Path("/proc/self/oom_score_adj").write_text("500")


if __name__ == "__main__":
    main()

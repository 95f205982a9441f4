"""The worker process: a program of its own that runs one job at a time and answers over an inherited socket.

    python -m engine.service.worker --socket FD --device gpu|emulator [--warm module:function] [--nice N]

`engine.service.worker_slot` starts it. It is no `multiprocessing` child, which would execute the dashboard's script
again. A job is the name of a function, its arguments and a deadline. Whatever a job does (never end, hold the
interpreter's lock, write through a wild pointer, poison the CUDA context) stays in this process, and the
process can always be replaced.

Messages to the worker: ("job", pickled (function, arguments, keywords), deadline_s), ("stop",).
Messages from it: ("ready", None or pickled exception), ("started",), ("progress", fraction, text),
("done", ok, replace_me) followed by the pickled value or exception as one run of bytes.
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
from engine.service.failures import Cancelled, JobFailed

WATCHDOG_S = 2.0  # the worker ends itself this long after the deadline, should nobody have killed it
PR_SET_PDEATHSIG = 1  # from <linux/prctl.h>


class _Stop(BaseException):
    """Raised inside a job, where it reports progress, when nobody wants its result any more."""


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
    os.set_inheritable(options.socket, False)  # a program that a job starts must not keep the socket open
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
            if message[0] == "job":  # a "stop" that arrives here came too late for its job
                _serve(connection, options.device, *message[1:])
    except (EOFError, OSError):
        os._exit(0)  # the parent is gone, and an orderly exit could wait for a GPU


def warm_gpu() -> None:
    """Import CuPy, create the context, run a first kernel, import what measures: what the first run would wait for."""
    import cupy

    if int(cupy.arange(32).sum()) != 496:
        raise RunFailed("crashed", "The GPU added the numbers 0 to 31 and did not get 496.")
    importlib.import_module("engine.backends.measure")
    importlib.import_module("engine.backends.gpu.launches")
    importlib.import_module("engine.backends.timing.gpu")


def warm_emulator() -> None:
    """Import the emulator, the compiler, what measures and what checks drafts, while the compiler's process starts."""
    importlib.import_module("engine.compile.process").start()
    importlib.import_module("engine.backends.measure")
    importlib.import_module("engine.backends.emulator")
    importlib.import_module("engine.lab.checking")
    importlib.import_module("engine.compile.nvrtc").include_folders()
    importlib.import_module("cupy_backends.cuda.libs.nvrtc")


def _serve(connection: Connection[Any, Any], device: str, job: bytes, deadline_s: float) -> None:
    """Run one job and answer. The watchdog is a C thread: it fires although the job holds the interpreter's lock."""
    faulthandler.dump_traceback_later(deadline_s + WATCHDOG_S, exit=True)
    connection.send(("started",))
    try:
        function, arguments, keywords = pickle.loads(job)
        called = resolved(function)
        if "progress" in inspect.signature(called).parameters:
            keywords = {"progress": _reporter(connection), **keywords}
        ok, answer = True, pickle.dumps(called(*arguments, **keywords))
    except BaseException as error:  # SystemExit too: a job does not decide over its worker
        ok, answer = False, _pickled(error)
    replace_me = device == "gpu" and _poisoned()
    faulthandler.cancel_dump_traceback_later()
    connection.send(("done", ok, replace_me))
    connection.send_bytes(answer)


def resolved(function: str) -> Callable[..., Any]:
    """The function called "package.module:function". ImportError, AttributeError, TypeError: there is none."""
    module, _, name = function.partition(":")
    found = getattr(importlib.import_module(module), name)
    if not callable(found):
        raise TypeError(f"{function} is not a function")
    return found  # type: ignore[no-any-return]


def _reporter(connection: Connection[Any, Any]) -> Callable[[float, str], None]:
    """A job's `progress`. It is also where a job that nobody waits for any more is stopped without a new process."""
    last = (-1.0, "")

    def progress(fraction: float, text: str) -> None:
        nonlocal last
        if text != last[1] or abs(fraction - last[0]) >= 0.005:  # finer steps are invisible in a bar
            last = (fraction, text)
            connection.send(("progress", float(fraction), str(text)))
        if connection.poll() and connection.recv()[0] == "stop":
            raise _Stop

    return progress


def _pickled(error: BaseException) -> bytes:
    """An exception for the caller: the engine's own as they are, any other as JobFailed."""
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
    """Whether the CUDA context is lost: after an illegal address every later call fails, however innocent."""
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
    """End when the parent ends, whatever is going on here.

    The kernel kills this process when the thread that started it ends (Linux). Elsewhere, and if the parent was gone
    before that was arranged, a thread sees the end of standard input, and the watchdog ends what holds the lock.
    """
    lifeline = os.dup(0)
    nothing = os.open(os.devnull, os.O_RDWR)
    os.dup2(nothing, 0)
    with contextlib.suppress(OSError):  # a server may have closed its standard error
        os.dup2(2, 1)  # what a job prints belongs in the server's log, not between the caller's JSON
    os.close(nothing)
    if sys.platform == "linux":
        ctypes.CDLL(None, use_errno=True).prctl(PR_SET_PDEATHSIG, signal.SIGKILL)

    def watch() -> None:
        while os.read(lifeline, 4096):
            pass
        os._exit(0)

    threading.Thread(target=watch, name="lifeline", daemon=True).start()


def _end_first() -> None:
    """Let Linux end this process, and what it starts, before the server where there is no memory left."""
    with contextlib.suppress(OSError):
        Path("/proc/self/oom_score_adj").write_text("500")


if __name__ == "__main__":
    main()

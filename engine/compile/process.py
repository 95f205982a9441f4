"""Call a function in a separate process with bounded time and memory, to compile a student's text.

The process is started once and kept; see engine.compile.server.
"""

from __future__ import annotations

import atexit
import contextlib
import os
import pickle
import socket
import subprocess
import sys
import threading
from collections.abc import Callable
from multiprocessing.connection import Connection
from typing import Any, TypeVar

from engine.compile.answers import MOST_BYTES, BadAnswer, unpacked
from engine.compile.limits import CPU_S, StoppedCompilation, TookTooLong, check_text
from engine.records import CompileError, NotRunnable
from engine.records.shipped import ROOT

_END_S = 5.0  # a server ends at once when told to
Value = TypeVar("Value")


class _Server:
    """The server process and our end of its socket."""

    def __init__(self) -> None:
        ours, theirs = socket.socketpair()
        path = os.pathsep.join(filter(None, (str(ROOT), os.environ.get("PYTHONPATH"))))
        with contextlib.ExitStack() as unless_started, theirs:
            unless_started.callback(ours.close)
            self._process = subprocess.Popen(
                [sys.executable, "-m", "engine.compile.server", str(theirs.fileno())],
                stdin=subprocess.DEVNULL,
                stdout=subprocess.DEVNULL,
                pass_fds=(theirs.fileno(),),
                # One thread: a fork of a process with several threads may hang, and NumPy's threads are not needed.
                env={**os.environ, "PYTHONPATH": path, "CUDA_VISIBLE_DEVICES": "", "OPENBLAS_NUM_THREADS": "1"},
            )
            unless_started.pop_all()
        self._connection: Connection[Any, Any] = Connection(ours.detach())

    def asked(self, request: bytes) -> tuple[bool, Any]:
        """Send a request and return the answer. EOFError or OSError if the server has ended."""
        self._connection.send_bytes(request)
        answer = self._connection.recv_bytes(MOST_BYTES)
        try:
            ok, made = unpacked(answer)
            return bool(ok), made
        except (BadAnswer, ValueError, TypeError):
            return False, StoppedCompilation(1)

    def close(self) -> None:
        """End the process."""
        self._connection.close()
        with contextlib.suppress(subprocess.TimeoutExpired):
            self._process.wait(_END_S)


_asking = threading.Lock()
_servers: list[_Server] = []
os.register_at_fork(after_in_child=_servers.clear)  # one caller per server


def start() -> None:
    """Start the server in the background if it is not running. Returns at once."""
    with _asking, contextlib.suppress(OSError):  # the next call says it
        _started()


def stop() -> None:
    """End the server; the next call starts another."""
    with _asking:
        _end()


def call_apart(name: str, text: str, function: Callable[..., Value], *arguments: Any, cpu_s: int = CPU_S) -> Value:
    """Call function(*arguments), which compiles the text `name`, in a separate process. Raises what the function
    raises.

    NotRunnable: the text is too long or unreadable, or the compiler does not start. CompileError: it takes too much
    memory. TookTooLong: it takes more than `cpu_s` seconds of a core. The function is a module's; its arguments can be
    pickled, and `engine.compile.answers` knows its value.
    """
    check_text(name, text)
    request = pickle.dumps((function, pickle.dumps(arguments), cpu_s))
    with _asking:
        ok, made = _ask(request)
    if ok:
        value: Value = made
        return value
    if isinstance(made, StoppedCompilation):
        sentence = f"{name} does not compile: {made.reason}."
        raise (TookTooLong if made.too_long else CompileError)(sentence, sentence)
    raise made


def _ask(request: bytes) -> tuple[bool, Any]:
    """Ask the kept server; if it has died, ask a new one, because this request did not kill it."""
    try:
        return _started().asked(request)
    except (EOFError, OSError):
        _end()
    except BaseException:
        _end()  # otherwise its answer would be read as that of the next request
        raise
    try:
        return _started().asked(request)
    except (EOFError, OSError):
        _end()
        raise NotRunnable(
            "The compiler does not start on this computer: its owner finds the reason in the log, or with doctor."
        ) from None


def _started() -> _Server:
    if not _servers:
        atexit.register(_end)
        _servers.append(_Server())
    return _servers[0]


def _end() -> None:
    atexit.unregister(_end)
    while _servers:
        _servers.pop().close()

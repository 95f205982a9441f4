"""Call a function in a process of its own, with bounded time and memory: whoever compiles what a student wrote does.

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
from pathlib import Path
from typing import Any, TypeVar

from engine.compile.limits import CPU_S, Ended, TookTooLong, check_text
from engine.records import CompileError

ROOT = Path(__file__).parents[2]
_END_S = 5.0  # a server that is told to end does so at once
Value = TypeVar("Value")


class _Server:
    """The process and our end of its socket."""

    def __init__(self) -> None:
        ours, theirs = socket.socketpair()
        path = os.pathsep.join(filter(None, (str(ROOT), os.environ.get("PYTHONPATH"))))
        with theirs:
            self._process = subprocess.Popen(
                [sys.executable, "-m", "engine.compile.server", str(theirs.fileno())],
                stdin=subprocess.DEVNULL,
                stdout=subprocess.DEVNULL,
                pass_fds=(theirs.fileno(),),
                # One thread: a fork of several may hang, and NumPy's own are for nothing here.
                env={**os.environ, "PYTHONPATH": path, "CUDA_VISIBLE_DEVICES": "", "OPENBLAS_NUM_THREADS": "1"},
            )
        self._connection: Connection[Any, Any] = Connection(ours.detach())

    def asked(self, request: bytes) -> bytes:
        """The answer. EOFError or OSError where there is no server any more."""
        self._connection.send_bytes(request)
        return self._connection.recv_bytes()

    def close(self) -> None:
        """End the process: a server without a caller ends, and what it has forked is bounded."""
        self._connection.close()
        with contextlib.suppress(subprocess.TimeoutExpired):
            self._process.wait(_END_S)


_asking = threading.Lock()
_servers: list[_Server] = []
os.register_at_fork(after_in_child=_servers.clear)  # one caller a server


def start() -> None:
    """Start the server, which warms up by itself, unless there is one. Returns at once."""
    with _asking:
        _started()


def apart(name: str, text: str, function: Callable[..., Value], *arguments: Any, cpu_s: int = CPU_S) -> Value:
    """function(*arguments), which compiles the text `name`, in a process of its own. Raises what the function raises.

    NotRunnable for a text that is too long or none; CompileError for one that takes too much memory, TookTooLong
    for one that takes more than `cpu_s` seconds of a core. The function is one of a module, its arguments and its value
    can be pickled.
    """
    check_text(name, text)
    request = pickle.dumps((function, pickle.dumps(arguments), cpu_s))
    with _asking:
        ok, made = pickle.loads(_asked(request))
    if ok:
        value: Value = made
        return value
    if isinstance(made, Ended):
        sentence = f"{name} does not compile: {made.reason}."
        raise (TookTooLong if made.too_long else CompileError)(sentence, sentence)
    raise made


def _asked(request: bytes) -> bytes:
    """The server's answer; a fresh server's, where the one that is kept has died: that was not this request's doing."""
    try:
        return _started().asked(request)
    except (EOFError, OSError):
        _end()
        return _started().asked(request)
    except BaseException:
        _end()  # its answer must not become that of the next request
        raise


def _started() -> _Server:
    if not _servers:
        atexit.register(_end)
        _servers.append(_Server())
    return _servers[0]


def _end() -> None:
    atexit.unregister(_end)
    while _servers:
        _servers.pop().close()

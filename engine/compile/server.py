"""The compiler as a separate program, so that no text can block or fill the process that needs its machine code.

python -m engine.compile.server SOCKET

The server loads the compiler once and forks for every request. A fork takes a few milliseconds, has bounded time and
memory, opens only headers, and knows nothing of earlier texts. A crash of one fork does not affect the next.

A request is the pickled (function, arguments, CPU seconds); the answer is the pickled (True, value) or (False,
exception). `engine.compile.process` starts the server and asks it. The server ends with its caller.
"""

from __future__ import annotations

import ctypes
import os
import pickle
import resource
import signal
import struct
import sys
from collections.abc import Callable, Sequence
from contextlib import suppress
from multiprocessing.connection import Connection
from typing import Any

from engine.compile.limits import MEMORY_BYTES, WALL_S, StoppedCompilation
from engine.compile.nvrtc import ASSEMBLED_ARCHITECTURE, compile_here, include_folders
from engine.records import Source

_CREATE_RULESET, _ADD_RULE, _RESTRICT_SELF = (
    444,
    445,
    446,
)  # the constants of Landlock are the same on every architecture
_ALL_OF_VERSION_1 = (1 << 13) - 1  # execute, write, read, list, remove and make
_READ_FILE, _READ_FOLDER = 1 << 2, 1 << 3
_PATH_BENEATH = 1
_NO_NEW_PRIVILEGES = 38  # of prctl


def confine(folders: Sequence[str]) -> bool:
    """Let this process open only files in `folders`, for reading. Returns False if this computer cannot confine it."""
    if sys.platform != "linux":
        return False
    system = ctypes.CDLL(None, use_errno=True)
    rules = system.syscall(_CREATE_RULESET, struct.pack("<Q", _ALL_OF_VERSION_1), 8, 0)
    if rules < 0:
        return False
    for folder in folders:
        with suppress(OSError):
            place = os.open(folder, os.O_PATH | os.O_CLOEXEC)
            rule = struct.pack("<Qi", _READ_FILE | _READ_FOLDER, place)
            system.syscall(_ADD_RULE, rules, _PATH_BENEATH, rule, 0)
            os.close(place)
    failed = system.prctl(_NO_NEW_PRIVILEGES, 1, 0, 0, 0) or system.syscall(_RESTRICT_SELF, rules, 0)
    os.close(rules)
    return not failed


def main(socket: int) -> None:
    """Answer requests until the caller closes the socket or ends."""
    os.set_inheritable(socket, False)
    signal.signal(signal.SIGINT, signal.SIG_IGN)  # Ctrl-C goes to the caller, which then ends this process
    connection: Connection[Any, Any] = Connection(socket)
    compile_here(Source("warm.cu", "", ""), ASSEMBLED_ARCHITECTURE)  # loads everything that a fork needs
    try:
        while True:
            connection.send_bytes(_answer(connection.recv_bytes()))
    except (EOFError, OSError):
        return


def _answer(request: bytes) -> bytes:
    """Answer a request in a fork, or say how the fork ended."""
    try:
        function, arguments, cpu_s = pickle.loads(request)  # imports the function's module once for all forks
    except ImportError as error:
        return pickle.dumps((False, error))
    reading, writing = os.pipe()
    fork = os.fork()
    if not fork:
        os.close(reading)
        _bounded(cpu_s)
        with os.fdopen(writing, "wb") as pipe:
            pipe.write(_call(function, pickle.loads(arguments)))
        os._exit(0)
    os.close(writing)
    with os.fdopen(reading, "rb") as pipe:
        answer = pipe.read()
    status = os.waitstatus_to_exitcode(os.waitpid(fork, 0)[1])
    return answer if status == 0 else pickle.dumps((False, StoppedCompilation(status)))


def _call(function: Callable[..., Any], arguments: tuple[Any, ...]) -> bytes:
    try:
        return pickle.dumps((True, function(*arguments)))
    except MemoryError:
        return pickle.dumps((False, StoppedCompilation(None)))
    except Exception as error:
        return pickle.dumps((False, error))


def _bounded(cpu_s: int) -> None:
    """Apply the limits to this process; the kernel ends it when it exceeds them."""
    resource.setrlimit(resource.RLIMIT_CORE, (0, 0))
    resource.setrlimit(resource.RLIMIT_AS, (MEMORY_BYTES, MEMORY_BYTES))
    resource.setrlimit(resource.RLIMIT_CPU, (cpu_s, cpu_s + 1))
    signal.setitimer(signal.ITIMER_REAL, WALL_S)
    nowhere = os.open(os.devnull, os.O_RDWR)
    for stream in range(3):  # messages of a library that aborts
        os.dup2(nowhere, stream)
    confine(include_folders())


if __name__ == "__main__":
    main(int(sys.argv[1]))

"""The compiler as a program of its own, so that no text can hold or fill the process that asks for its machine code.

    python -m engine.compile.server SOCKET

It loads the compiler once and forks for every request: a fork takes a few milliseconds, may use so much time and
memory and no more, opens nothing but headers, and knows nothing of earlier texts. Whatever becomes of a fork, the next
request gets another one.
A request is the pickled (function, arguments, seconds of a core); the answer (True, value) or (False, exception),
pickled.
`engine.compile.process` starts it and asks. It ends when its caller does.
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

from engine.compile.limits import MEMORY_BYTES, WALL_S, Ended
from engine.compile.nvrtc import ASSEMBLED_ARCHITECTURE, compiled_here, include_folders
from engine.records import Source

_CREATE_RULESET, _ADD_RULE, _RESTRICT_SELF = 444, 445, 446  # the same numbers on every machine
_ALL_OF_VERSION_1 = (1 << 13) - 1  # execute, write, read, list, remove and make
_READ_FILE, _READ_FOLDER = 1 << 2, 1 << 3
_PATH_BENEATH = 1
_NO_NEW_PRIVILEGES = 38  # of prctl


def confine(folders: Sequence[str]) -> bool:
    """From now on this process opens only files in `folders`, to read. False: this computer cannot confine it."""
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
    signal.signal(signal.SIGINT, signal.SIG_IGN)  # Ctrl-C is the caller's, and ends this with it
    connection: Connection[Any, Any] = Connection(socket)
    compiled_here(Source("warm.cu", "", ""), ASSEMBLED_ARCHITECTURE)  # loads all that a fork will need
    try:
        while True:
            connection.send_bytes(_answer(connection.recv_bytes()))
    except (EOFError, OSError):
        return


def _answer(request: bytes) -> bytes:
    """What a fork makes of a request, or how it ended."""
    try:
        function, arguments, cpu_s = pickle.loads(request)  # imports the function's module here, once for all forks
    except ImportError as error:
        return pickle.dumps((False, error))
    reading, writing = os.pipe()
    fork = os.fork()
    if not fork:
        os.close(reading)
        _bounded(cpu_s)
        with os.fdopen(writing, "wb") as pipe:
            pipe.write(_made(function, pickle.loads(arguments)))
        os._exit(0)
    os.close(writing)
    with os.fdopen(reading, "rb") as pipe:
        answer = pipe.read()
    status = os.waitstatus_to_exitcode(os.waitpid(fork, 0)[1])
    return answer if status == 0 else pickle.dumps((False, Ended(status)))


def _made(function: Callable[..., Any], arguments: tuple[Any, ...]) -> bytes:
    try:
        return pickle.dumps((True, function(*arguments)))
    except MemoryError:
        return pickle.dumps((False, Ended(None)))
    except Exception as error:
        return pickle.dumps((False, error))


def _bounded(cpu_s: int) -> None:
    """From here on this process may use what limits allow; the kernel ends it when it has, whatever it is doing."""
    resource.setrlimit(resource.RLIMIT_CORE, (0, 0))
    resource.setrlimit(resource.RLIMIT_AS, (MEMORY_BYTES, MEMORY_BYTES))
    resource.setrlimit(resource.RLIMIT_CPU, (cpu_s, cpu_s + 1))
    signal.setitimer(signal.ITIMER_REAL, WALL_S)
    nowhere = os.open(os.devnull, os.O_RDWR)
    for stream in range(3):  # the last words of a library that gives up
        os.dup2(nowhere, stream)
    confine(include_folders())


if __name__ == "__main__":
    main(int(sys.argv[1]))

"""The compiler as a separate program, so that no text can block or fill the process that needs its machine code.

python -m engine.compile.server SOCKET

The server loads the compiler once and forks for every request. A fork takes a few milliseconds, has bounded time and
memory, opens only headers, and knows nothing of earlier texts. A crash of one fork does not affect the next.

A request is the pickled (function, arguments, CPU seconds); the answer is (True, value) or (False, exception) in the
form of engine.compile.answers. `engine.compile.process` starts the server and asks it. The server ends with its caller.
"""

from __future__ import annotations

import os
import pickle
import resource
import signal
import sys
import warnings
from collections.abc import Callable
from multiprocessing.connection import Connection
from typing import Any

from engine.compile.answers import MOST_BYTES, packed
from engine.compile.confinement import confine, missing_confinement
from engine.compile.limits import MEMORY_BYTES, WALL_S, StoppedCompilation
from engine.compile.nvrtc import ASSEMBLED_ARCHITECTURE, STANDARD_HEADERS, compile_here, include_folders
from engine.records import Source


def main(socket: int) -> None:
    """Answer requests until the caller closes the socket or ends."""
    os.set_inheritable(socket, False)
    os.chdir(STANDARD_HEADERS)  # the compiler looks for headers in the current folder, too
    # Python 3.12 warns of a fork beside other threads: here it may meet the compiler's last one, which is just ending.
    warnings.filterwarnings("ignore", "This process .* is multi-threaded", DeprecationWarning)
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
        return packed((False, error))
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
        answer = pipe.read(MOST_BYTES + 1)
    if len(answer) > MOST_BYTES:
        os.kill(fork, signal.SIGKILL)
    status = os.waitstatus_to_exitcode(os.waitpid(fork, 0)[1])
    return answer if status == 0 else packed((False, StoppedCompilation(status)))


def _call(function: Callable[..., Any], arguments: tuple[Any, ...]) -> bytes:
    try:
        return packed((True, function(*arguments)))
    except MemoryError:
        return packed((False, StoppedCompilation(None)))
    except Exception as error:
        return packed((False, error))


def _bounded(cpu_s: int) -> None:
    """Apply the limits to this process; the kernel ends it when it exceeds them."""
    resource.setrlimit(resource.RLIMIT_CORE, (0, 0))
    resource.setrlimit(resource.RLIMIT_AS, (MEMORY_BYTES, MEMORY_BYTES))
    resource.setrlimit(resource.RLIMIT_CPU, (cpu_s, cpu_s + 1))
    signal.setitimer(signal.ITIMER_REAL, WALL_S)
    nowhere = os.open(os.devnull, os.O_RDWR)
    for stream in range(3):  # messages of a library that aborts
        os.dup2(nowhere, stream)
    if not confine(include_folders()) and missing_confinement() is None:
        os._exit(1)


if __name__ == "__main__":
    main(int(sys.argv[1]))

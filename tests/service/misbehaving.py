"""Jobs for the tests of the service, most of them harmful. They run in worker processes only."""

from __future__ import annotations

import ctypes
import os
import subprocess
import sys
import time
import types
from collections.abc import Callable
from pathlib import Path
from typing import Any

from engine.records import CompileError, NotRunnable, RunFailed

Progress = Callable[[float, str], None]
SLOW_S = 1.2  # duration of `slow_warm`


def process_id() -> int:
    return os.getpid()


def add(a: int, b: int) -> int:
    return a + b


def mark(path: str, word: str) -> str:
    """Append a word to a file, which shows which jobs ran, how often and in which order."""
    with Path(path).open("a") as file:
        file.write(word + "\n")
    return word


def gate(path: str) -> int:
    """Wait until a file exists."""
    while not Path(path).exists():
        time.sleep(0.01)
    return os.getpid()


def mark_behind(door: str, path: str, word: str) -> str:
    """Wait until a file exists, then mark."""
    gate(door)
    return mark(path, word)


def gate_in(trace: str, path: str) -> str:
    """Mark the name of the host that runs this, and wait until a file exists."""
    mark(trace, os.environ["HOST_NAME"])
    gate(path)
    return os.environ["HOST_NAME"]


def steps(folder: str, count: int, progress: Progress) -> int:
    """Report each step, and go on when a file with its number exists."""
    for step in range(count):
        progress(step / count, f"step {step}")
        gate(f"{folder}/{step}")
    return count


def endless_steps(progress: Progress) -> None:
    step = 0
    while True:
        step += 1
        progress((step % 100) / 100, "going on")
        time.sleep(0.01)


def flood(progress: Progress) -> None:
    step = 0
    while True:
        step += 1
        progress(0.5, f"message {step}")


def endless_loop() -> None:
    while True:
        pass


def hang_in_c() -> None:
    """Sleep in C with the interpreter's lock held, so that no Python thread can run."""
    ctypes.PyDLL(None).sleep(1000)


def leave(code: int) -> None:
    os._exit(code)


def read_address_zero() -> None:
    ctypes.string_at(0)


def fail(kind: str) -> None:
    errors: dict[str, BaseException] = {
        "NotRunnable": NotRunnable("Choose a block size that is a power of two."),
        "CompileError": CompileError("a.cu does not compile: line 3: expected a ;.", "a.cu(3): error: expected a ;", 3),
        "RunFailed": RunFailed("deadlock", "Line 7: a barrier that not every thread reaches.", 7),
        "ZeroDivisionError": ZeroDivisionError("division by zero"),
        "SystemExit": SystemExit(5),
    }
    raise errors[kind]


class OddError(Exception):
    """An exception that cannot be unpickled: it needs two arguments and passes one to its base."""

    def __init__(self, a: str, b: str) -> None:
        super().__init__(a + b)


def fail_oddly() -> None:
    raise OddError("a", "b")


def unpicklable() -> Any:
    return lambda: None


def large(count: int) -> bytes:
    return bytes(count)


def chatter() -> str:
    print("printed by a job")
    return sys.stdin.read()


def start_program(path: str) -> None:
    """Start another program, write its process id to a file and never end."""
    child = subprocess.Popen(["sleep", "1000"])
    Path(path).write_text(str(child.pid))
    endless_loop()


class CUDADriverError(RuntimeError):
    """An exception with the name of CuPy's."""


def cuda_error(text: str, poison: bool) -> None:
    """Raise an error as CuPy does; `poison`: with the context unusable afterwards."""

    def synchronize() -> None:
        if poison:
            raise CUDADriverError(text)

    fake = types.ModuleType("cupy")
    fake.cuda = types.SimpleNamespace(runtime=types.SimpleNamespace(deviceSynchronize=synchronize))  # type: ignore[attr-defined]
    sys.modules["cupy"] = fake
    raise CUDADriverError(text)


def slow_warm() -> None:
    time.sleep(SLOW_S)


def broken_warm() -> None:
    raise ImportError("no module of that name")


def environment(name: str) -> str | None:
    return os.environ.get(name)


def niceness() -> int:
    return os.nice(0)


ILLEGAL_READ = r'extern "C" __global__ void wild(int *out) { out[0] = *(int *)0x10; }'
ENDLESS = r'extern "C" __global__ void endless(volatile int *out) { while (out[0] == 0) { } }'
FINE = 'extern "C" __global__ void fine(int *out) { out[threadIdx.x] = threadIdx.x; }'


def gpu_kernel(source: str, name: str) -> int:
    """Run a kernel on a GPU over 32 zeros and return their sum."""
    import cupy

    out = cupy.zeros(32, dtype=cupy.int32)
    cupy.RawKernel(source, name)((1,), (32,), (out,))
    return int(out.sum())


def gpu_behind(path: str) -> tuple[int, str]:
    """Wait until a file exists; return how many GPUs this worker sees and the bus id of the one that it uses."""
    import cupy

    gate(path)
    return cupy.cuda.runtime.getDeviceCount(), cupy.cuda.runtime.deviceGetPCIBusId(0)

"""Jobs for the tests of the service, most of them bad. They run in worker processes only."""

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
SLOW_S = 1.2  # what `slow_warm` takes


def process_id() -> int:
    return os.getpid()


def add(a: int, b: int) -> int:
    return a + b


def mark(path: str, word: str) -> str:
    """Appends to a file: what ran, in which order, how often."""
    with Path(path).open("a") as file:
        file.write(word + "\n")
    return word


def gate(path: str) -> int:
    """Waits until the file exists."""
    while not Path(path).exists():
        time.sleep(0.01)
    return os.getpid()


def mark_behind(door: str, path: str, word: str) -> str:
    """The same, and then marks."""
    gate(door)
    return mark(path, word)


def gate_in(trace: str, path: str) -> str:
    """Leaves the name of the host that it runs on, as the tests call it, and waits until the file exists."""
    mark(trace, os.environ["HOST_NAME"])
    gate(path)
    return os.environ["HOST_NAME"]


def steps(folder: str, count: int, progress: Progress) -> int:
    """Reports each step, and goes on when a file of its number exists."""
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
    """Never comes back from C and keeps the interpreter's lock: no Python thread can run."""
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
    """Cannot be pickled back: it needs two arguments and gives its base one."""

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
    """Starts another program, leaves its process id in a file and never ends."""
    child = subprocess.Popen(["sleep", "1000"])
    Path(path).write_text(str(child.pid))
    endless_loop()


class CUDADriverError(RuntimeError):
    """As CuPy calls it."""


def cuda_error(text: str, poison: bool) -> None:
    """Raises what CuPy raises, and leaves behind a context as CUDA leaves it."""

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
    """On a GPU: run one kernel over 32 zeroed ints and return their sum."""
    import cupy

    out = cupy.zeros(32, dtype=cupy.int32)
    cupy.RawKernel(source, name)((1,), (32,), (out,))
    return int(out.sum())


def gpu_behind(path: str) -> tuple[int, str]:
    """On a GPU: how many GPUs this worker sees and where the one is that it uses, once the file exists."""
    import cupy

    gate(path)
    return cupy.cuda.runtime.getDeviceCount(), cupy.cuda.runtime.deviceGetPCIBusId(0)

"""Run and time a scalar rung: one thread of the CPU, compiled by the computer's own C++ compiler.

The text is a catalogue `.cu` file; `__global__` and `__device__` are defined as nothing. A user's text is never
compiled here, because the CPU does not isolate it as a GPU does.
"""

from __future__ import annotations

import ctypes
import os
import platform
import shutil
import subprocess
from collections.abc import Callable, Mapping
from functools import lru_cache, partial
from pathlib import Path
from tempfile import TemporaryDirectory
from time import perf_counter
from typing import Any

import numpy as np

from engine.backends.timing.statistics import half_width, median, median_interval
from engine.catalogue import data, kernel_named, topic_of
from engine.records import (
    C_TYPES,
    Array,
    CompileError,
    HostRun,
    NotRunnable,
    Plan,
    Progress,
    Run,
    Scalar,
    Source,
    Timing,
    dtype_of,
)
from engine.records.words import cpu_badge

OPTIONS = ("-O2", "-std=c++17", "-shared", "-fPIC", "-x", "c++")
PRECISION, BUDGET_S, MAX_SAMPLES = 0.01, 0.12, 300


def host_step(plan: Plan) -> HostRun | None:
    """Return the plan's step on the CPU, if it has one. It is then the only step."""
    step = plan.steps[0]
    return step if isinstance(step, HostRun) else None


class Cpu:
    """The CPU as a backend, for a scalar rung of a ladder that runs on `beside`.

    Beside the emulator, which has no times, the CPU's time is only a remark.
    """

    counts, traces, ordered = False, False, False

    def __init__(self, beside: str) -> None:
        self.beside, self.times = beside, beside == "gpu"

    def describe(self) -> Mapping[str, Any]:
        """Describe the device that was asked for: {kind, name}. The run's badge names the CPU."""
        return {"kind": self.beside, "name": name()}

    def run(self, plan: Plan, progress: Progress) -> Run:
        """Execute the step once into a poisoned buffer. Nothing is counted."""
        progress(0.0, "Running on the CPU")
        buffers = _buffers(plan)
        step = host_step(plan)
        assert step is not None
        _callable(plan, step, buffers)()
        output = buffers[plan.result][: plan.result_count].copy()
        return Run(output, badges=(cpu_badge(name()),), notes=notes())

    def time(self, plan: Plan, progress: Progress) -> Timing | None:
        """Time the loop alone by the host's clock; None without a compiler."""
        return time_plan(plan, progress)


def time_plan(plan: Plan, progress: Progress | None = None) -> Timing | None:
    """Time the loop alone by the host's clock; None without a compiler, because Python's time is not C++'s."""
    step = host_step(plan)
    if step is None or compiler() is None:
        return None
    say = progress or (lambda fraction, text: None)
    call = _callable(plan, step, _buffers(plan))
    first = _seconds(call)  # the first call also loads the code
    least = 15 if first < 0.02 else 5 if first < 0.2 else 3 if first < 2 else 1
    samples: list[float] = []
    started = perf_counter()
    while True:
        spent = (perf_counter() - started) / BUDGET_S
        if len(samples) >= least and (half_width(samples) < PRECISION or spent >= 1 or len(samples) >= MAX_SAMPLES):
            break
        say(0.5 + 0.5 * min(1.0, max(spent, len(samples) / MAX_SAMPLES)), f"Timing: {len(samples)} samples")
        samples.append(round(_seconds(call) * 1e6, 3))
    low, high = median_interval(samples)
    badges = ("few samples",) if len(samples) < 15 else ()
    return Timing(tuple(samples), median(samples), low, high, clock="host", badges=badges)


def notes() -> dict[str, Any]:
    """Return the CPU, its threads and its compiler, for the record."""
    found = compiler()
    made_by = f"{_version(found)}, {' '.join(OPTIONS[:2])}" if found else f"Python {platform.python_version()}: no time"
    return {"cpu": name(), "cpu_threads": 1, "cpu_compiler": made_by}


@lru_cache(maxsize=1)
def name() -> str:
    """Return the CPU's own name: "AMD EPYC 9554 64-Core Processor"."""
    try:
        for line in Path("/proc/cpuinfo").read_text(encoding="utf-8").splitlines():
            if line.startswith("model name"):
                return line.partition(":")[2].strip()
    except OSError:
        pass
    return platform.processor() or platform.machine()


@lru_cache(maxsize=1)
def compiler() -> str | None:
    """Return the path of a C++ compiler, or None."""
    wanted = (os.environ.get("CXX"), "c++", "g++", "clang++")
    return next((path for word in wanted if word and (path := shutil.which(word))), None)


@lru_cache(maxsize=1)
def _version(path: str) -> str:
    answer = subprocess.run([path, "--version"], capture_output=True, text=True, timeout=30, check=False)
    return answer.stdout.partition("\n")[0].strip() or path


def _seconds(call: Callable[[], object]) -> float:
    started = perf_counter()
    call()
    return perf_counter() - started


def _buffers(plan: Plan) -> dict[str, Array]:
    given = topic_of(plan.choice.kernel).input_recipe(plan.choice)
    return {
        buffer.name: data.repeated(*given[buffer.name])
        if buffer.fill == "input"
        else np.full(buffer.count, _poison(buffer.dtype), dtype_of(buffer.dtype))
        for buffer in plan.buffers
    }


def _poison(dtype: str) -> float:
    """Return a value that no answer has."""
    return -(2**31) + 77 if dtype == "int32" else float("nan")


def _callable(plan: Plan, step: HostRun, buffers: dict[str, Array]) -> Callable[[], object]:
    if step.source.text != kernel_named(plan.choice.kernel).text:
        raise NotRunnable(f"{plan.choice.kernel} runs on the CPU only as it stands in {step.source.name}.")
    if compiler() is None:
        return partial(step.stand_in, *(arg.value if isinstance(arg, Scalar) else buffers[arg] for arg in step.args))
    function = getattr(_library(step.source), step.function)
    arguments = [
        np.ctypeslib.as_ctypes_type(dtype_of(arg.dtype))(arg.value)
        if isinstance(arg, Scalar)
        else buffers[arg].ctypes.data_as(ctypes.c_void_p)  # keeps the array alive; its address alone would not
        for arg in step.args
    ]
    function.restype = None
    return partial(function, *arguments)


@lru_cache(maxsize=16)
def _library(source: Source) -> ctypes.CDLL:
    path = compiler()
    assert path is not None
    head = f"#include <math.h>\n#define __global__\n#define __device__\nusing T = {C_TYPES[source.dtype]};\n"
    with TemporaryDirectory() as folder:
        file, library = Path(folder) / "scalar.cpp", Path(folder) / "scalar.so"
        file.write_text(f'{head}#line 1 "{source.name}"\n{source.text}', encoding="utf-8")
        defines = [f"-D{key}={value}" for key, value in source.defines]
        made = subprocess.run([path, *OPTIONS, *defines, str(file), "-o", str(library), "-lm"],
                              capture_output=True, text=True, timeout=60, check=False)  # fmt: skip
        if made.returncode:
            raise CompileError(f"{source.name} does not compile for the CPU with {path}.", made.stderr)
        return ctypes.CDLL(str(library))

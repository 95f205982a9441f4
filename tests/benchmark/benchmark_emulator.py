"""How fast the emulator is, as ratios against one NumPy addition.

    python -m tests.benchmark.benchmark_emulator [--only WORD] [--repeats 3]
    python -m tests.benchmark.benchmark_emulator --numba /path/to/a/python/with/numba   # and its CUDA simulator

Counters and race detection are on. Exit status 1 where a limit is passed. Every case runs in a process of its own, so
that its peak memory is its own too. The unit is the best time of an addition of two (128, 2048) uint32 arrays on the
same machine: 27 us on the 2-core Xeon of the absolute goals, so that a ratio stands for the same work anywhere. All
times are processor times (the emulator has one thread), so that other work on the machine matters little.
"""

from __future__ import annotations

import argparse
import json
import os
import resource
import subprocess
import sys
import time
import traceback
from collections.abc import Callable
from dataclasses import dataclass, replace
from pathlib import Path
from typing import Any

import numpy as np

from engine.backends.emulator.launch import execute
from engine.backends.emulator.loading import load
from engine.catalogue import KERNELS, TOPICS, data, default_choice, topic_of
from engine.plan import plan
from engine.records import Array, Buffer, Choice, HostRun, Launch, NotRunnable, Plan, Run, Scalar, Source
from tests.benchmark.few_lanes import FEW_LANES
from tests.benchmark.student_kernels import STUDENT_KERNELS, StudentKernel

REFERENCE_US = 27.0  # the unit on the machine of the goals

# What may not be passed: case -> times the unit, from the goal in seconds on that machine.
GOALS_S = {
    "reduction": 0.3,  # every rung, 2^22 int32
    "matmul 256": 0.3,
    "matmul 512": 1.5,
    "long threads 256": 0.6,  # two rungs beyond the lecture: 1,024 threads of some 20,000 instructions each
    "sin and cos": 1.0,  # double, 2^20 threads
    "collatz": 1.5,  # the worst divergence, 2^20 threads
    "compile and parse": 0.3,
    "trapezoid": 1.0,  # double, 2^20 intervals
}
INSTRUCTIONS_PER_S = 50e6  # of threads, at least, where the work is counted
COUNTED = "thread instructions"
TILES = ("matmul_register_1d", "matmul_register_2d", "matmul_warp_tile", "matmul_async_copy")
LONG_THREADS = ("matmul_register_2d", "matmul_async_copy")
LIMITS = {name: seconds / REFERENCE_US * 1e6 for name, seconds in GOALS_S.items()}
MEMORY_LIMIT_MB = 1024
NUMBA_AT_LEAST = 1000  # times slower than the emulator
OVERHEAD_LIMIT = 12.0  # counters and races over the plain run; reductions only

SIN_AND_COS = """extern "C" __global__ void f(const double *in, double *out, unsigned int n) {
    unsigned int i = blockIdx.x * blockDim.x + threadIdx.x;
    if (i < n) out[i] = sin(in[i]) + 2 * cos(in[i]);
}"""
COLLATZ = """extern "C" __global__ void f(const int *in, int *out, unsigned int n) {
    unsigned int i = blockIdx.x * blockDim.x + threadIdx.x;
    if (i >= n) return;
    unsigned int x = in[i], steps = 0;
    while (x != 1) { x = x & 1 ? 3 * x + 1 : x / 2; steps++; }
    out[i] = steps;
}"""


@dataclass(frozen=True)
class Case:
    """Something to time. `group`: its limit's name. `run(observe)` does it once, and gives what was run.

    `least`: the goal in thread instructions a second, if they are counted.
    """

    name: str
    group: str
    prepare: Callable[[], Callable[[bool], Run | None]]
    least: float = INSTRUCTIONS_PER_S


@dataclass(frozen=True)
class Row:
    """A case's result: seconds (best of the repeats), in units, plain seconds, peak memory of the process.
    `instructions`: those of threads."""

    case: Case
    seconds: float
    plain_s: float | None
    megabytes: float
    instructions: int

    @property
    def per_second(self) -> float:
        """Thread instructions a second, as they would be on the machine of the goals."""
        return self.instructions / (self.seconds / unit_s() * REFERENCE_US * 1e-6)

    @property
    def broken(self) -> list[str]:
        """Which limits the case passes."""
        made = []
        if self.case.group == COUNTED:
            if self.per_second < self.case.least:
                made.append(f"under {self.case.least / 1e6:g} million a second")
        elif self.seconds > LIMITS[self.case.group] * unit_s():
            made.append(f"over {LIMITS[self.case.group]:,.0f} units")
        if self.megabytes > MEMORY_LIMIT_MB:
            made.append(f"over {MEMORY_LIMIT_MB} MB")
        if self.case.group == "reduction" and self.plain_s and self.seconds > OVERHEAD_LIMIT * self.plain_s:
            made.append(f"observers cost more than {OVERHEAD_LIMIT:g} times the plain run")
        return made


_units: list[float] = []


def unit_s() -> float:
    """The best time of the calibration loop so far, in seconds."""
    return min(_units)


def calibrate() -> None:
    """Time the unit for a while: called between cases, so that other work on the machine hits both alike."""
    a, b = np.ones((128, 2048), np.uint32), np.ones((128, 2048), np.uint32)
    for _ in range(20):
        started = time.process_time()
        for _ in range(100):
            np.add(a, b)
        _units.append((time.process_time() - started) / 100)
    _units[:] = [min(_units)]


# ---- cases


def catalogue_case(choice: Choice, group: str, name: str) -> Case:
    """A kernel of the catalogue."""

    def prepare() -> Callable[[bool], Run]:
        whole = plan(choice)
        recipe = topic_of(choice.kernel).input_recipe(choice)
        inputs = {key: data.repeated(numbers, count) for key, (numbers, count) in recipe.items()}

        def run(observe: bool) -> Run:
            made = execute(whole, inputs, observers=None if observe else ())
            if KERNELS[choice.kernel].expect == "ok":
                assert topic_of(choice.kernel).check(whole, made.output).ok, f"{choice.kernel}: a wrong answer"
            return made

        return run

    return Case(name, group, prepare)


def source_case(name: str, group: str, text: str, values: Array, expected: Callable[[Array], Array]) -> Case:
    """A kernel (in, out, n) that is not in the catalogue."""
    n, kind = values.size, str(values.dtype)

    def prepare() -> Callable[[bool], Any]:
        source = Source(f"{group}.cu", text, kind)
        launch = Launch("f", source, (-(-n // 128), 1, 1), (128, 1, 1), ("in", "out", Scalar("uint32", n)))
        buffers = (Buffer("in", kind, n, "input"), Buffer("out", kind, n, "poison"))
        plan = Plan(Choice("f", n, 128, dtype=kind), buffers, (launch,), "out", n, 0, 0, 1, launch.grid[0])
        wanted = expected(values)

        def run(observe: bool) -> None:
            made = execute(plan, {"in": values}, observers=None if observe else ())
            assert np.allclose(made.output, wanted, rtol=0, atol=1e-12)

        return run

    return Case(name, group, prepare)


def planned(kernel: StudentKernel) -> tuple[Plan, dict[str, Array]]:
    """Return the launch of a student's kernel, and random numbers for it."""
    source = Source("student.cu", kernel.text, kernel.dtype)
    launch = Launch("f", source, kernel.grid, kernel.block, ("in", "out", Scalar("uint32", kernel.number)))
    buffers = (
        Buffer("in", kernel.dtype, kernel.count, "input"),
        Buffer("out", kernel.dtype, kernel.out_count, "zero"),
    )
    choice = Choice("f", kernel.count, kernel.block[0], dtype=kernel.dtype)
    whole = Plan(choice, buffers, (launch,), "out", kernel.out_count, 0, 0, 1, kernel.grid[0])
    return whole, {"in": (1000 * np.random.default_rng(0).random(kernel.count)).astype(kernel.dtype)}


def student_case(kernel: StudentKernel) -> Case:
    """A kernel of students, on random numbers."""

    def prepare() -> Callable[[bool], Run]:
        whole, inputs = planned(kernel)
        return lambda observe: execute(whole, inputs, observers=None if observe else ())

    return Case(kernel.name, COUNTED, prepare, kernel.least)


def compile_case(name: str) -> Case:
    """A kernel as a text that nobody has compiled before: NVRTC, parser, linker, and what the assembler
    joins; nothing kept from earlier."""

    def prepare() -> Callable[[bool], Any]:
        choice = replace(default_choice(name), n=512, device="emulator")
        launch = next(step for step in plan(choice).steps if isinstance(step, Launch))

        def run(observe: bool) -> None:
            source = replace(launch.source, text=f"{launch.source.text}\n// {time.perf_counter()}")
            load(source, launch.kernel)

        return run

    return Case(f"{name}, fresh text", "compile and parse", prepare)


def steps_of_collatz(values: Array) -> Array:
    """How many steps each number takes to 1."""
    x, steps = values.astype(np.uint32), np.zeros(values.size, np.int32)
    active = np.flatnonzero(x != 1)
    while active.size:
        now = x[active]
        x[active] = np.where(now & 1, 3 * now + 1, now // 2)
        steps[active] += 1
        active = active[x[active] != 1]
    return steps


def cases() -> list[Case]:
    """All that is timed."""
    made = []
    for kernel in TOPICS["reduction"].kernels:
        choice = replace(default_choice(kernel.name), n=2**22, dtype="int32", device="emulator")
        made.append(catalogue_case(choice, "reduction", kernel.name))
    for kernel in TOPICS["matmul"].kernels:
        for width in (256, 512):
            group = "long threads" if width == 256 and kernel.name in LONG_THREADS else "matmul"
            choice = replace(default_choice(kernel.name), n=width, device="emulator")
            made.append(catalogue_case(choice, f"{group} {width}", f"{kernel.name} {width}"))
    for name in TILES:
        for width in (128, 256):
            choice = replace(default_choice(name), n=width, device="emulator")
            made.append(catalogue_case(choice, COUNTED, f"{name} {width}, counted"))
    made += [student_case(kernel) for kernel in (*STUDENT_KERNELS, *FEW_LANES)]
    for kernel in TOPICS["trapezoid"].kernels:
        made.append(
            catalogue_case(replace(default_choice(kernel.name), n=2**20, device="emulator"), "trapezoid", kernel.name)
        )
    numbers = np.random.default_rng(0)
    angles = numbers.uniform(-100, 100, 2**20)
    made.append(
        source_case("sin + 2 cos, double", "sin and cos", SIN_AND_COS, angles, lambda x: np.sin(x) + 2 * np.cos(x))
    )
    starts = numbers.integers(1, 2**16, 2**20).astype(np.int32)
    made.append(source_case("collatz, random starts", "collatz", COLLATZ, starts, steps_of_collatz))
    # The lecture's tiles; the longest PTX; the largest headers.
    made += [compile_case(name) for name in ("matmul_tiled", "matmul_async_copy", "reduce_cooperative")]
    return [case for case in made if _runs(case)]


def _runs(case: Case) -> bool:
    """False for what the emulator refuses, or what runs on the CPU."""
    if case.name.split()[0] not in KERNELS or case.group == "compile and parse":
        return True
    choice = replace(default_choice(case.name.split()[0]), device="emulator")
    try:
        made = plan(replace(choice, n=256 if case.group.endswith(("256", "512")) else choice.n))
    except NotRunnable:
        return False
    return not any(isinstance(step, HostRun) for step in made.steps)


# ---- measuring


def measured(case: Case, repeats: int) -> Row:
    """The case in a child process."""
    receive, send = os.pipe()
    child = os.fork()
    if not child:
        os.close(receive)
        status = 1
        try:
            run = case.prepare()
            run(False)  # compiles, allocates
            counts = (run(True) or Run(np.zeros(0))).counts if case.group == COUNTED else None
            times = {observe: min(_timed(run, observe) for _ in range(repeats)) for observe in (True, False)}
            peak = resource.getrusage(resource.RUSAGE_SELF).ru_maxrss / 1024
            instructions = int(counts.counters["thread_instructions"]) if counts else 0
            os.write(send, json.dumps([times[True], times[False], peak, instructions]).encode())
            status = 0
        except Exception:
            traceback.print_exc()
        finally:
            os._exit(status)
    os.close(send)
    with os.fdopen(receive) as stream:
        text = stream.read()
    if os.waitpid(child, 0)[1] or not text:
        raise SystemExit(f"{case.name} failed")
    seconds, plain, peak, instructions = json.loads(text)
    return Row(case, seconds, None if case.group == "compile and parse" else plain, peak, instructions)


def _timed(run: Callable[[bool], Any], observe: bool) -> float:
    started = time.process_time()
    run(observe)
    return time.process_time() - started


def table(rows: list[Row]) -> str:
    """What was measured, in columns. `s`: as it would be where the unit takes REFERENCE_US; `goal s`: its limit."""
    unit = unit_s()
    lines = [f"one unit: {unit * 1e6:.1f} us here, {REFERENCE_US:g} us on the machine of the goals; memory at most "
             f"{MEMORY_LIMIT_MB:,} MB",
             f"{'case':34} {'units':>8} {'limit':>8} {'s':>7} {'goal s':>7} {'s here':>7} {'plain s':>8} {'ratio':>6} "
             f"{'MB':>6}"]  # fmt: skip
    for row in rows:
        plain = f"{row.plain_s:8.3f} {row.seconds / row.plain_s:6.2f}" if row.plain_s else f"{'':8} {'':6}"
        units, counted = row.seconds / unit, row.case.group == COUNTED
        limit, goal = ("", "") if counted else (f"{LIMITS[row.case.group]:,.0f}", f"{GOALS_S[row.case.group]:.1f}")
        rate = f"{row.per_second / 1e6:,.0f} million thread instructions a second; " if counted else ""
        lines.append(
            f"{row.case.name:34} {units:8,.0f} {limit:>8} {units * REFERENCE_US / 1e6:7.3f} "
            f"{goal:>7} {row.seconds:7.3f} {plain} {row.megabytes:6.0f}  {rate}{'; '.join(row.broken) or 'ok'}"
        )
    return "\n".join(lines)


# ---- Numba's simulator


def against_numba(python: str, n: int = 16_384) -> tuple[str, bool]:
    """The same reduction at a size that the simulator can do: one sentence, and whether the emulator is fast enough."""
    script = Path(__file__).with_name("numba_simulator.py")
    done = subprocess.run(
        [python, str(script), str(n)],
        env={**os.environ, "NUMBA_ENABLE_CUDASIM": "1"},
        capture_output=True,
        text=True,
        check=True,
    )
    found = json.loads(done.stdout)
    lines, ok = [f"Numba {found['version']}'s CUDA simulator; the emulator with counters and races"], True
    for name, kernel, small, large, work in (
        ("reduction", "reduce_sequential", n, 2**22, lambda size: size),
        ("matmul", "matmul_tiled", found["width"], 256, lambda size: size**3),
    ):
        ours = []
        for size in (small, large):
            choice = replace(default_choice(kernel), n=size, dtype=KERNELS[kernel].dtypes[0], device="emulator")
            run = catalogue_case(choice, "reduction", kernel).prepare()
            run(True)
            ours.append(min(_timed(run, True) for _ in range(3)))
        ratio = found[name] / work(small) * work(large) / ours[1]
        ok = ok and ratio >= NUMBA_AT_LEAST
        lines += [
            f"  {kernel}, n = {small:,}: {found[name]:.2f} s against {ours[0] * 1e3:.1f} ms, "
            f"{found[name] / ours[0]:,.0f} times",
            f"  the same per unit of work, the emulator at n = {large:,} ({ours[1] * 1e3:.0f} ms): {ratio:,.0f} times",
        ]
    return "\n".join(lines), ok


def main(arguments: list[str] | None = None) -> int:
    """The command line. 0: within all limits."""
    parser = argparse.ArgumentParser(description="Time the emulator against one NumPy addition.")
    parser.add_argument("--only", default="", help="cases whose name or group holds this word")
    parser.add_argument("--repeats", type=int, default=3, help="the best of so many")
    parser.add_argument("--numba", help="a Python with numba: compare with its CUDA simulator too")
    chosen = parser.parse_args(arguments)
    rows = []
    calibrate()
    for case in cases():
        if chosen.only in case.name or chosen.only in case.group:
            rows.append(measured(case, chosen.repeats))
            calibrate()
    print(table(rows))
    ok = not any(row.broken for row in rows)
    if chosen.numba:
        text, fast = against_numba(chosen.numba)
        print(text)
        ok = ok and fast
    return 0 if ok else 1


if __name__ == "__main__":
    sys.exit(main())

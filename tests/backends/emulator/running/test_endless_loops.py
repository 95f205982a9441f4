"""Endless loops and waits without end are reported at once; slow loops that end are not."""

from __future__ import annotations

import re
import time
from dataclasses import replace
from typing import Any

import numpy as np
import pytest

from engine.backends.emulator import launch
from engine.backends.emulator.state.machine import Options
from engine.backends.emulator.state.schedule import LOCKSTEP, Schedule
from engine.catalogue import KERNELS, default_choice, inputs_of
from engine.plan import plan
from engine.records import Buffer, Launch, RunFailed, Source
from tests.backends.emulator.small_kernels import execute, zeros
from tests.cases import case

HEAD = """extern "C" __global__ void f(const int *in, volatile int *out, int n) {
    __shared__ int s[64];
    int t = threadIdx.x, i = blockIdx.x * blockDim.x + t;
"""
INDEPENDENT = Schedule("independent", seed=4)
SCHEDULES = [LOCKSTEP, INDEPENDENT, Schedule("waves", blocks_per_wave=1)]


def run(body: str, schedule: Schedule = LOCKSTEP, grid: int = 3) -> Any:
    return execute(HEAD + body + "\n}", grid=grid, block=64, schedule=schedule, options=Options(step_limit=50_000),
                   **{"in": np.arange(256, dtype=np.int32), "out": zeros(256)}, n=256)  # fmt: skip


ENDLESS = {
    "an empty loop": "while (true) {\n}",
    "a forgotten increment": "int sum = 0;\nfor (int k = i; k < n; )\n sum += in[k];\nout[i] = sum;",
    "a tree that never steps on": (
        "s[t] = in[i];\n__syncthreads();\nfor (int k = 32; k > 0; ) {\n if (t < k) s[t] += s[t + k];\n"
        " __syncthreads();\n}\nout[i] = s[0];"
    ),
    "a step that stays at zero": "int c = 0;\nfor (int k = 0; k < n; k *= 2)\n c += in[k];\nout[i] = c;",
    "two values in turn": "int x = in[1];\nwhile (x != 7)\n x = 5 - x;\nout[i] = x;",
    "two values in turn in memory": "s[t] = 1;\nwhile (s[t] != 7)\n s[t] = 5 - s[t];\nout[i] = s[t];",
    "a sum in memory, which decides nothing": "s[t] = 0;\nfor (int k = i; k < n; )\n s[t] += in[k];\nout[i] = s[t];",
    "some lanes of one block": "int x = in[i];\nwhile (x % 4 != 0 || i == 70)\n x += x % 4;\nout[i] = x;",
    "a cycle of pointers": "int p = t;\nwhile (p != 99)\n p = in[(p + 1) % 8];\nout[i] = p;",
    "a flag that is set back in every turn": (
        "for (;;) {\n if (t == 0) s[0] = 1;\n __syncthreads();\n if (t == 1) s[0] = 0;\n __syncthreads();\n"
        " if (s[0]) break;\n __syncthreads();\n}\nout[i] = 1;"
    ),
    "an index that counts down, without a sign": "for (unsigned k = 10; k >= 0; --k)\n out[k & 63] = k;",
    "a number in memory that goes up": "int *p = (int *)in + i;\nfor (;;)\n *p = 3 * *p + 1;",
    "a lock that is taken again and again": (
        "int *p = (int *)out;\nfor (;;) {\n if (atomicCAS(p, 0, 1) == 0) { atomicAdd(p + 1, 1); atomicExch(p, 0); }\n"
        " out[2 + i] = clock();\n}"
    ),
    "an endless loop within a loop": (
        "int c = 0;\nfor (int k = 0; k < 3; k++)\n for (int m = 0; m < 3; )\n  c += in[m] * k;\nout[i] = c;"
    ),
}
NOT_IN_EVERY_ORDER = ("a flag that is set back in every turn",)  # what memory decides may end in another order of lanes


@pytest.mark.sampled(quick=4)
@pytest.mark.parametrize("schedule", SCHEDULES, ids=lambda schedule: schedule.kind)
@pytest.mark.parametrize("name", sorted(ENDLESS))
def test_a_loop_that_never_ends_is_called_so(name: str, schedule: Schedule) -> None:
    if name in NOT_IN_EVERY_ORDER and schedule.kind == "independent":
        pytest.skip("what memory decides may end in another order of lanes")
    with pytest.raises(
        RunFailed, match=r"^test\.cu, line \d+: this loop never ends: thread \d+ of block \d"
    ) as failure:
        run(ENDLESS[name], schedule)
    assert failure.value.status == "timeout" and failure.value.finding == "step-limit"
    assert (failure.value.line or 0) >= 4


DEADLOCKS = {
    "a flag that nobody sets": ("while (out[0] == 0) ;", "no running thread writes"),
    "a flag that nobody sets, while others count in another memory": (
        "s[t] = 0;\nwhile (out[0] == 0) atomicAdd(&s[t], 1);",
        "no running thread writes",
    ),
    "two warps wait for each other": (
        "if (t < 32) { while (out[1] == 0) ; out[2] = 1; } else { while (out[2] == 0) ; out[1] = 1; }",
        "no running thread writes",
    ),
    "three loops in a row": (
        "if (t == 0) while (out[1] == 0) ; else if (t < 32) while (out[2] == 0) ; else while (out[3] == 0) ;",
        "waits in a loop",
    ),
    "a lock that is never given back": (
        "while (atomicCAS((int *)out, 0, 1) != 0) ;\nout[1] += in[i];",
        "waits in a loop for",
    ),
    "the others wait at the barrier": (
        "if (t < 32) while (out[0] == 0) ;\n__syncthreads();\nout[0] = 1;",
        "while other threads wait for it at the barrier of line 5",
    ),
}


@pytest.mark.sampled(quick=3)
@pytest.mark.parametrize("schedule", SCHEDULES, ids=lambda schedule: schedule.kind)
@pytest.mark.parametrize("name", sorted(DEADLOCKS))
def test_a_wait_that_nobody_can_end_is_a_deadlock(name: str, schedule: Schedule) -> None:
    body, words = DEADLOCKS[name]
    with pytest.raises(RunFailed) as failure:
        run(body, schedule)
    assert failure.value.status == "deadlock", str(failure.value)
    assert words in str(failure.value) or schedule.kind == "independent"


# A counter of floats that has no larger number, 2 ** 24 + 1: more lanes than repeat a compare-and-swap together.
FULL = """float c = *(volatile float *)out;
while (*(volatile float *)out < c + 4) {
    float old = *(volatile float *)out;
    atomicCAS((int *)out, __float_as_int(old), __float_as_int(old + 1));
}"""


@pytest.mark.parametrize("schedule", [one for one in SCHEDULES if one.kind != "independent"], ids=lambda one: one.kind)
def test_a_counter_that_cannot_grow_is_a_deadlock_also_for_many_lanes(schedule: Schedule) -> None:
    out = np.full(8, 2.0**24, np.float32).view(np.int32)
    with pytest.raises(RunFailed) as failure:
        execute(f"{HEAD}{FULL}\n}}", grid=8, block=64, schedule=schedule, **{"in": zeros(1), "out": out}, n=1)
    assert failure.value.status == "deadlock", str(failure.value)


@pytest.mark.parametrize("schedule", SCHEDULES[:2], ids=lambda schedule: schedule.kind)
def test_a_sync_of_the_grid_behind_a_guard_is_named(schedule: Schedule) -> None:
    body = "if (blockIdx.x < 2) {\n cooperative_groups::this_grid().sync();\n out[i] = 1; }"
    with pytest.raises(RunFailed) as failure:
        execute(f"#include <cooperative_groups.h>\n{HEAD}{body}\n}}", grid=3, block=64, schedule=schedule,
                cooperative=True, **{"in": zeros(1), "out": zeros(256)}, n=1)  # fmt: skip
    assert failure.value.status == "deadlock"
    assert "waits at grid.sync() for threads that never come there" in str(failure.value)
    assert failure.value.line == 6


ENDING = {
    "a loop of one thread over many elements": (
        "int c = 0;\nif (t == 0) for (int k = 0; k < 6000; k++) c += in[k % n];\nout[i] = c;"
    ),
    "Collatz": "int x = in[i] + 1, c = 0;\nwhile (x != 1) { x = x % 2 ? 3 * x + 1 : x / 2; c++; }\nout[i] = c;",
    "a wait for another warp that takes its time": (
        "if (t < 32) { while (out[0] == 0) ; }\nelse { int c = 0; for (int k = 0; k < 3000; k++) c += in[k % n];\n"
        " if (t == 32) out[0] = c; }\nout[1 + i] = 5;"
    ),
    "a wait without volatile": (
        "int *flag = (int *)out;\nif (t < 32) { while (*flag == 0) __threadfence(); }\n"
        "else { int c = 0; for (int k = 0; k < 3000; k++) c += in[k % n]; if (t == 32) *flag = c; }\nout[1 + i] = 5;"
    ),
    "a wait that gives up": (
        "int tries = 0;\nwhile (out[0] == 0 && tries < 3000) tries++;\nout[1 + i] = tries;"
    ),
    "a chain of waits from warp to warp": (
        "if (t == 63) out[9] = 1;\nif (t == 0) { while (out[9] == 0) ; out[10] = 1; }\n"
        "if (t == 32) { while (out[10] == 0) ; out[11] = 1; }"
    ),
    "a wait of one warp for lanes that stand with another one": (
        "if (t > 0 && t < 32) { while (out[0] == 0) ; }\nif (t >= 32) out[0] = 1;"
    ),
    "a search in shared memory": (
        "s[t] = in[t];\n__syncthreads();\nint low = 0, high = 63;\nwhile (low < high) {\n int m = (low + high) / 2;\n"
        " if (s[m] < t) low = m + 1; else high = m;\n}\nout[i] = low;"
    ),
    "bubbles until nothing changes": (
        "s[t] = 63 - t;\n__shared__ int changed;\ndo {\n __syncthreads();\n if (t == 0) changed = 0;\n"
        " __syncthreads();\n"
        " for (int odd = 0; odd < 2; odd++) {\n  if (t % 2 == odd && t < 63 && s[t] > s[t + 1]) {\n"
        "   int x = s[t]; s[t] = s[t + 1]; s[t + 1] = x; changed = 1;\n  }\n  __syncthreads();\n }\n"
        "} while (changed);\nout[i] = s[t];"
    ),
    "a clock": (
        "long long start = clock64();\nint c = 0;\nwhile (clock64() - start < 3000) c++;\nout[i] = c;"
    ),
}  # fmt: skip


@pytest.mark.sampled(thorough=2)
@pytest.mark.parametrize("schedule", [case(order, quick=order == LOCKSTEP, id=order.kind) for order in SCHEDULES])
@pytest.mark.parametrize("name", sorted(ENDING))
def test_a_loop_that_ends_is_left_alone(name: str, schedule: Schedule) -> None:
    if name == "a wait of one warp for lanes that stand with another one" and schedule.kind == "independent":
        pytest.skip("only in lockstep do lanes of one warp hold up the others")
    run(ENDING[name], schedule, grid=1)


def forgotten(text: str) -> list[str]:
    """The text without the last part of one of its `for (…; …; …)`, for each of them."""
    loops = re.finditer(r"for \(([^;()]*);([^;]*);([^;)]*)\)", text)
    return [text[: loop.start(3)] + text[loop.end(3) :] for loop in loops]


TREES = ("reduce_interleaved", "reduce_sequential", "reduce_grid_stride_atomic", "reduce_atomic_cas",
         "trapezoid_sequential", "row_sums_block", "matmul_tiled", "max_shared")  # fmt: skip


@pytest.mark.sampled(quick=0, thorough=3)
@pytest.mark.parametrize("name", TREES)
def test_a_forgotten_increment_at_the_default_size_is_told_within_seconds(name: str) -> None:
    texts = forgotten(KERNELS[name].text)
    assert texts and KERNELS[name].block_sizes
    for text in texts:
        for block_size in KERNELS[name].block_sizes[:: max(1, len(KERNELS[name].block_sizes) - 1)]:
            choice = replace(default_choice(name), source=text, source_name="mine.cu", block_size=block_size)
            made = plan(replace(choice, device="emulator"))
            inputs, started = inputs_of(made.choice), time.process_time()
            with pytest.raises(RunFailed, match="this loop never ends"):
                launch.run(made, inputs, seconds=30)
            assert time.process_time() - started < 5  # far from the 30 s that it may take; 0.1 s on a fast machine


def test_what_decides_is_asked_anew_for_other_arguments() -> None:
    """The same program with its buffers in other places: the flag that ends the wait is then another array."""
    text = """extern "C" __global__ void f(volatile int *flag, int *in, int *out) {
    int t = threadIdx.x;
    if (t < 32) { while (flag[0] == 0) ; }
    else { int c = 0; for (int k = 0; k < 3000; k++) c += in[k % 64]; if (t == 32) flag[0] = c + 1; }
    out[t] = 5;
}"""
    device = launch.Device()
    for name in ("a", "b", "in", "out"):
        device.place(Buffer(name, "int32", 64, "zero"), {})
    for flag, numbers in (("a", "in"), ("b", "in"), ("in", "a")):
        step = Launch("f", Source("t.cu", text, "int32"), (1, 1, 1), (64, 1, 1), (flag, numbers, "out"))
        device.arrays[flag].data[:] = 0
        device.arrays["out"].data[:] = 0
        launch.launch(device, step, ())
        assert (device.read("out", 64) == 5).all()

"""The emulator against the reference interpreter, bit for bit, on random programs and on every kernel that can be read
thread by thread; and against itself: no option and no schedule may change an answer or a counter."""

from __future__ import annotations

from dataclasses import replace
from functools import lru_cache

import numpy as np
import pytest

from engine import ptx
from engine.catalogue import KERNELS, data, default_choice, topic_of
from engine.compile import EMULATED_ARCHITECTURE, compile_source
from engine.plan import plan as plan_of
from engine.ptx.counters import Counters
from engine.ptx.launch import execute
from engine.ptx.machine import Options
from engine.ptx.schedule import LOCKSTEP, Schedule
from engine.records import Array, Choice, HostRun, HostSum, Launch, NotRunnable, Plan, Source, Zero, dtype_of
from tests.ptx import emulated, oracle, random_ptx, random_sources

# Ways to execute that may not change an answer; those in lockstep may not change a counter either.
WAYS: dict[str, tuple[Options, Schedule]] = {
    "flat": (Options(flat=True), LOCKSTEP),
    "without sums": (Options(sums=False), LOCKSTEP),
    "block by block": (Options(lanes=32), LOCKSTEP),
    "one block a wave": (Options(), Schedule("waves", blocks_per_wave=1)),
    "independent 0": (Options(), Schedule("independent", seed=0)),
    "independent 1": (Options(), Schedule("independent", seed=1)),
    "independent 2": (Options(), Schedule("independent", seed=2)),
}
SEEDS = range(24)
FILES = range(2)
KERNELS_PER_FILE = 4
_THREAD_BY_THREAD = 60_000  # instructions that the oracle executes in about a tenth of a second


def differences(found: list[bytes], wanted: list[bytes]) -> list[str]:
    """The first words that differ, as text."""
    lines = []
    for number, (one, other) in enumerate(zip(found, wanted, strict=True)):
        a, b = np.frombuffer(one, np.uint8), np.frombuffer(other, np.uint8)
        for place in sorted(set((np.flatnonzero(a != b) // 8).tolist()))[:3]:
            thread, word = divmod(place, random_ptx.ROW)
            values = (part[8 * place : 8 * place + 8][::-1].hex() for part in (one, other))
            lines.append("argument {}, thread {}, word {}: {}, expected {}".format(number, thread, word, *values))
    return lines


def compare_ways(
    text: str, module: oracle.Module, kernel: str, launch: random_ptx.Launch, number: int, counted: bool
) -> None:
    """One kernel on the oracle and in several ways on the emulator."""
    arguments = launch.arguments()
    executed = oracle.run(module, kernel, launch.grid, launch.block, arguments)
    wanted = [bytes(each) for each in arguments if isinstance(each, bytearray)]
    counters = Counters()
    found = emulated.run(text, kernel, launch.grid, launch.block, launch.arguments(), observers=[counters])
    assert differences(found, wanted) == []
    if counted:
        assert counters.totals()["thread_instructions"] == executed
    names = list(WAYS)
    for name in (names[number % 4], names[(number // 4 + number + 1) % 4], names[4 + number % 3]):
        options, schedule = WAYS[name]
        again = Counters()
        found = emulated.run(text, kernel, launch.grid, launch.block, launch.arguments(), options, schedule, [again])
        assert differences(found, wanted) == [], name
        if schedule.kind != "independent":
            assert again.details() == counters.details(), name


@pytest.mark.parametrize("seed", SEEDS)
def test_random_ptx(seed: int) -> None:
    launch = random_ptx.program(seed)
    compare_ways(launch.text, oracle.Module(launch.text), "probe", launch, seed, counted=True)


@lru_cache(maxsize=1)
def _compiled(seed: int) -> tuple[str, oracle.Module, list[tuple[str, random_ptx.Launch]]]:
    text, launches = random_sources.source(seed, KERNELS_PER_FILE)
    made = compile_source(Source("probe.cu", text, "int32"), EMULATED_ARCHITECTURE).decode()
    return made, oracle.Module(made), launches


@pytest.mark.parametrize("kernel", range(KERNELS_PER_FILE))
@pytest.mark.parametrize("seed", FILES)
def test_random_sources(seed: int, kernel: int) -> None:
    text, module, launches = _compiled(seed)
    name, launch = launches[kernel]
    compare_ways(text, module, name, launch, seed * KERNELS_PER_FILE + kernel, counted=False)


# ---- the catalogue, thread by thread


def small_plan(kernel: str, dtype: str) -> Plan:
    """A plan that the oracle can execute in no time."""
    entry, topic = KERNELS[kernel], topic_of(kernel)
    size = 8 if "width" in topic.block_label else 32
    choice = replace(
        default_choice(kernel), dtype=dtype, device="emulator", n=max(topic.min_n, 13 if size == 8 else 83),
        block_size=size if size in entry.block_sizes else entry.block_sizes[0],
        grid_size=2 if entry.coverage is None else None,
    )  # fmt: skip
    return plan_of(choice)


def inputs_of(choice: Choice) -> dict[str, Array]:
    """The topic's numbers for a choice."""
    recipe = topic_of(choice.kernel).input_recipe(choice)
    return {name: data.repeated(numbers, count) for name, (numbers, count) in recipe.items()}


def by_oracle(plan: Plan) -> Array:
    """The plan's answer, thread by thread."""
    inputs = inputs_of(plan.choice)
    memory, kinds = {}, {}
    for buffer in plan.buffers:
        kind = kinds[buffer.name] = dtype_of(buffer.dtype)
        fill = np.full(buffer.count * kind.itemsize, 0xA5 if buffer.fill == "poison" else 0, np.uint8).tobytes()
        memory[buffer.name] = bytearray(
            inputs[buffer.name].astype(kind)[: buffer.count].tobytes() if buffer.fill == "input" else fill
        )
    answer = None
    for step in plan.steps:
        if isinstance(step, Launch):
            text = compile_source(step.source, EMULATED_ARCHITECTURE).decode()
            given = [
                memory[each] if isinstance(each, str) else np.array([each.value], dtype_of(each.dtype)).tobytes()
                for each in step.args
            ]
            oracle.run(text, step.kernel, step.grid, step.block, given, 50 * _THREAD_BY_THREAD)
        elif isinstance(step, Zero):
            memory[step.buffer][:] = bytes(len(memory[step.buffer]))
        elif isinstance(step, HostSum):
            kind = kinds[step.buffer]
            answer = np.frombuffer(bytes(memory[step.buffer]), kind)[: step.count].sum(dtype=kind, keepdims=True)
    if answer is not None:
        return answer
    return np.frombuffer(bytes(memory[plan.result]), kinds[plan.result])[: plan.result_count]


def _cases() -> list[tuple[str, str]]:
    """Kernels whose answer does not depend on who runs first, each in one element type."""
    names = [name for name, kernel in KERNELS.items() if kernel.expect == "ok" and not kernel.cooperative]
    return [(name, KERNELS[name].dtypes[number % len(KERNELS[name].dtypes)]) for number, name in enumerate(names)]


@pytest.mark.parametrize(("kernel", "dtype"), _cases())
def test_catalogue_kernels(kernel: str, dtype: str) -> None:
    try:
        plan = small_plan(kernel, dtype)
    except NotRunnable as reason:
        pytest.skip(str(reason))
    if any(isinstance(step, HostRun) for step in plan.steps):
        pytest.skip("runs on the CPU")
    try:
        wanted = by_oracle(plan)
    except oracle.Unknown as opcode:
        pytest.skip(f"the oracle does not know {opcode}")
    for found in (
        ptx.run(plan, inputs_of(plan.choice)),
        execute(plan, inputs_of(plan.choice), options=Options(flat=True, lanes=32)),
    ):
        if wanted.dtype.kind == "i":
            assert found.output.tobytes() == wanted.tobytes()
        else:
            assert topic_of(kernel).check(plan, found.output).ok and topic_of(kernel).check(plan, wanted).ok
            assert np.allclose(found.output, wanted, rtol=1e-5, atol=1e-6)

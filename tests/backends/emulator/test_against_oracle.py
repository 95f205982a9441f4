"""The emulator against the reference interpreter, bit for bit: on random programs, and on every kernel of the catalogue
whose answer does not depend on who runs first."""

from __future__ import annotations

from dataclasses import replace

import numpy as np
import pytest

from engine.backends import emulator
from engine.backends.emulator.launch import execute
from engine.backends.emulator.state.schedule import Schedule
from engine.catalogue import KERNELS, data, default_choice, topic_of
from engine.compile.nvrtc import EMULATED_ARCHITECTURE, compile_source
from engine.plan import plan
from engine.records import Array, Choice, HostRun, HostSum, Launch, NotRunnable, Plan, Zero, dtype_of
from tests.backends.emulator import oracle, random_programs

SEEDS = range(6)  # `python -m tests.backends.emulator.random_programs` does a thousand


LECTURE_MATMUL = ("matmul_uncoalesced", "matmul_naive", "matmul_tiled")


@pytest.mark.thorough
@pytest.mark.parametrize("seed", SEEDS)
def test_random_ptx(seed: int) -> None:
    assert random_programs.of_ptx(seed, random_programs.three_ways(seed)) == []


@pytest.mark.sampled(quick=0, thorough=4)
@pytest.mark.parametrize("kernel", range(random_programs.KERNELS_PER_FILE))
def test_random_sources(kernel: int) -> None:
    assert random_programs.of_source(0, kernel, random_programs.three_ways(kernel)) == []


# ---- the catalogue, thread by thread


def small_plan(kernel: str, dtype: str) -> Plan:
    """A plan that the oracle can execute in no time."""
    entry, topic = KERNELS[kernel], topic_of(kernel)
    size = 8 if "width" in topic.block_label.lower() else 32
    choice = replace(
        default_choice(kernel), dtype=dtype, device="emulator", n=max(topic.min_n, 13 if size == 8 else 83),
        block_size=size if size in entry.block_sizes else entry.block_sizes[0],
        grid_size=2 if entry.coverage is None else None,
    )  # fmt: skip
    return plan(choice)


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
            oracle.run(text, step.kernel, step.grid, step.block, given, 3_000_000)
        elif isinstance(step, Zero):
            memory[step.buffer][:] = bytes(len(memory[step.buffer]))
        elif isinstance(step, HostSum):
            kind = kinds[step.buffer]
            answer = np.frombuffer(bytes(memory[step.buffer]), kind)[: step.count].sum(dtype=kind, keepdims=True)
    if answer is not None:
        return answer
    return np.frombuffer(bytes(memory[plan.result]), kinds[plan.result])[: plan.result_count]


def _cases() -> list[tuple[str, str]]:
    """Kernels whose answer depends on no order of execution, each in one element type.

    Kernels with register tiles are left out, as they take the oracle seconds: `test_differential` and their own tests
    have them.
    """
    # What depends on the order of threads is checked in every order by test_atomics.py and test_volta.py.
    names = [
        name
        for name, kernel in KERNELS.items()
        if kernel.expect == "ok" and not kernel.cooperative and kernel.topic not in ("atomics", "volta")
    ]
    names = [name for name in names if not name.startswith("matmul_") or name in LECTURE_MATMUL]
    return [(name, KERNELS[name].dtypes[number % len(KERNELS[name].dtypes)]) for number, name in enumerate(names)]


@pytest.mark.sampled(quick=0, thorough=16)
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
    check = topic_of(kernel).check
    found = emulator.run(plan, inputs_of(plan.choice)).output
    other = execute(plan, inputs_of(plan.choice), schedule=Schedule("independent", seed=1)).output
    assert check(plan, found).ok and check(plan, wanted).ok
    if (
        found.dtype.kind == "i" and found.tobytes() == other.tobytes()
    ):  # otherwise the answer depends on the order of execution
        assert found.tobytes() == wanted.tobytes()

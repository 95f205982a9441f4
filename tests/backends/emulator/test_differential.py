"""Every kernel of the catalogue against itself: chunk sizes, shapes and schedules change no answer, counter or finding.

The sizes are ragged: a last block with idle threads, a block that is no whole number of warps where the kernel allows.
"""

from __future__ import annotations

from dataclasses import asdict, replace

import pytest

from engine.backends import emulator
from engine.backends.emulator.launch import execute
from engine.backends.emulator.state.machine import Options
from engine.backends.emulator.state.schedule import Schedule
from engine.catalogue import KERNELS, data, default_choice, topic_of
from engine.catalogue.products import MULTIPLE
from engine.plan import plan
from engine.records import Array, Choice, HostRun, NotRunnable, Plan, Run

# What depends on the order of threads is checked in every order by test_atomics.py and test_volta.py.
ORDERLESS = {name for name, kernel in KERNELS.items() if kernel.topic not in ("atomics", "volta")}

WAYS = {
    "one block at a time": Options(lanes=1),
    "a few blocks at a time": Options(lanes=3 * 64),
    "all blocks at once": Options(lanes=1 << 22),
    "every register full": Options(flat=True),
    "no outer sums": Options(sums=False, lanes=5 * 64),
    "no loads together": Options(groups=False),
}


def choice_of(kernel: str, number: int) -> Choice:
    """A ragged size and a small block; element types take turns."""
    entry, topic = KERNELS[kernel], topic_of(kernel)
    square = "width" in topic.block_label.lower()
    small = [size for size in entry.block_sizes if size <= (16 if square else 64)] or list(entry.block_sizes[:1])
    choice = replace(
        default_choice(kernel),
        block_size=small[-1],
        dtype=entry.dtypes[number % len(entry.dtypes)],
        grid_size=5 if entry.coverage is None else None,
        device="emulator",
    )
    sizes = (1201, 37) if entry.topic != "tensor" else (MULTIPLE,)
    for n in sizes:  # the smaller one if n is a matrix's width
        choice = replace(choice, n=max(topic.min_n, n))
        if sum(count for _, count in topic.input_recipe(choice).values()) < 10_000:
            break
    return choice


def inputs_of(choice: Choice) -> dict[str, Array]:
    """The topic's numbers."""
    recipe = topic_of(choice.kernel).input_recipe(choice)
    return {name: data.repeated(numbers, count) for name, (numbers, count) in recipe.items()}


def emulated_plan(kernel: str, number: int) -> Plan:
    """The kernel's plan; skips what the emulator does not run."""
    try:
        made = plan(choice_of(kernel, number))
    except NotRunnable as reason:
        pytest.skip(str(reason))
    if any(isinstance(step, HostRun) for step in made.steps):
        pytest.skip("runs on the CPU")
    return made


def facts(run: Run) -> tuple[bytes, object, object]:
    """All that a run says but its findings."""
    return run.output.tobytes(), asdict(run.counts)


@pytest.mark.sampled(quick=0, thorough=27)
@pytest.mark.parametrize(("number", "kernel"), [(n, name) for n, name in enumerate(KERNELS) if name in ORDERLESS])
def test_how_it_is_executed_changes_nothing(number: int, kernel: str) -> None:
    plan = emulated_plan(kernel, number)
    inputs = inputs_of(plan.choice)
    way = list(WAYS)[number % len(WAYS)]
    first = emulator.run(plan, inputs)
    other = execute(plan, inputs, options=WAYS[way])
    found, wanted = facts(other), facts(first)
    if KERNELS[kernel].expect == "wrong":  # the order between blocks depends on the blocks that run together
        found, wanted = found[1:], wanted[1:]  # type: ignore[assignment]
    assert found == wanted, way
    assert {finding.kind for finding in other.findings} == {finding.kind for finding in first.findings}, way


@pytest.mark.sampled(quick=0, thorough=18)
@pytest.mark.parametrize(
    ("number", "kernel"),
    [(n, name) for n, (name, kernel) in enumerate(KERNELS.items()) if kernel.expect == "ok" and name in ORDERLESS],
)
def test_right_kernels_are_right_and_silent_whoever_runs_first(number: int, kernel: str) -> None:
    plan = emulated_plan(kernel, number)
    inputs = inputs_of(plan.choice)
    schedule = (
        Schedule("independent", seed=7 + number) if number % 2 else Schedule("waves", blocks_per_wave=1 + number % 3)
    )
    found = emulator.run(plan, inputs, schedule=schedule)
    assert topic_of(kernel).check(plan, found.output).ok, schedule
    assert not found.findings, schedule

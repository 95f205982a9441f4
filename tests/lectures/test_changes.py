"""Counters by line, from rung to rung, and beside the hardware's."""

import json
from dataclasses import replace
from functools import cache

import pytest

from engine.backends.cpu import host_step
from engine.backends.measure import failed
from engine.catalogue import KERNELS, LADDERS, default_choice
from engine.figures.banks import MOST_FRAMES, bank_figure, moments, shown_moments
from engine.lectures import changes
from engine.plan import plan
from engine.records import Choice, Counts, NotRunnable
from engine.records.counters import ON_LINES
from tests.cases import case, code_line
from tests.made import measure
from tests.made import trace as trace_of


def run(kernel, n=4096, **more):
    return measure(Choice(kernel, n, 128, device="emulator", **more))


@pytest.fixture(scope="module")
def strided():
    return run("reduce_strided")


@pytest.fixture(scope="module")
def sequential():
    return run("reduce_sequential")


@pytest.mark.parametrize("ladder", LADDERS.values(), ids=LADDERS)
def test_what_a_rung_shows_is_a_counter(ladder):
    assert ladder.rungs and all(rung.shows.lstrip("+=") in ("", *ON_LINES) for rung in ladder.rungs)


def test_the_lines_add_up_to_the_whole(strided):
    whole = changes.values_of(strided)
    for counter in ("warp_instructions", "bank_conflicts", "sectors", "barriers", "wavefronts"):
        assert sum(changes.line_values(strided, counter).values()) == whole[counter]


def test_the_conflicts_stand_at_the_line_that_makes_them(strided, sequential):
    conflicts = changes.line_values(strided, "bank_conflicts")
    assert {line for line, value in conflicts.items() if value} == {code_line("reduce_strided", "partial[index] += ")}
    assert not any(changes.line_values(sequential, "bank_conflicts").values())


def test_conflicts_of_doubles_are_those_beyond_the_passes_that_eight_bytes_need():
    assert changes.values_of(run("reduce_sequential", dtype="float64"))["bank_conflicts"] == 0
    assert changes.values_of(run("reduce_strided", dtype="float64"))["bank_conflicts"] > 0


def test_a_rung_of_the_cpu_was_not_counted():
    scalar = measure(Choice("trapezoid_scalar", 1024, 256, dtype="float64", device="emulator"))
    assert set(changes.values_of(scalar).values()) == {None}


def test_findings_are_counted_at_both_lines():
    racy = run("reduce_racy")
    found = changes.line_values(racy, "findings")
    assert found and changes.values_of(racy)["findings"] == len(racy.findings)
    assert set(found) == {line for f in racy.findings for line in (f.line, f.other_line) if line}


def test_shares_are_parts_of_the_hottest_line():
    assert changes.shares({3: 10, 4: 40}, "barriers") == {3: 0.25, 4: 1.0}
    assert changes.shares({3: 32, 4: 8}, "active_lanes_per_instruction") == {3: 0.0, 4: 0.75}
    assert changes.shares({3: 0}, "barriers") == {3: 0.0} and changes.shares({}, "barriers") == {}


def test_a_change_is_a_sentence(strided, sequential):
    change = changes.change(strided, sequential, "bank_conflicts")
    assert change.before and change.after == 0
    assert change.sentence.startswith("Bank conflicts fall from") and change.sentence.endswith("to none.")
    assert "a factor of" in changes.change(strided, sequential, "warp_instructions").sentence
    little = replace(strided, counts=Counts({**strided.counters, "barriers": strided.counters["barriers"] + 2}))
    assert changes.change(strided, little, "barriers").sentence.endswith(", by 2.")
    assert "rise from none to" in changes.change(sequential, strided, "bank_conflicts").sentence
    assert "stay at" in changes.change(sequential, sequential, "barriers").sentence


@pytest.mark.parametrize(("before", "after", "step", "words"), [
    (1_490_000, 0, 1.09, "1.49 M → 0, and yet 1.09×"), (792_649, 31_000, 1.45, "792,649 → 31,000, and 1.45×"),
    (4, 32, 0.5, "4 → 32, and 0.50×"), (4, 32, 1.5, "4 → 32, and yet 1.50×"), (7, 7, 1.0, "7 → 7, and 1.00×"),
    (None, 5, 1.3, "5: 1.30×"), (None, None, 1.3, "1.30× as fast"), (4, 3, None, "4 → 3"), (None, None, None, ""),
])  # fmt: skip
def test_a_change_and_its_speedup_in_one_line(before, after, step, words):
    assert changes.headline("bank_conflicts", before, after, step, held=False) == words


def test_a_held_back_number_is_a_question():
    assert changes.headline("bank_conflicts", 1_490_000, 0, 1.09, held=True) == "1.49 M → ?"
    assert changes.headline("bank_conflicts", None, 0, 1.09, held=True) == "?"


def test_what_was_not_counted_is_none_and_is_not_compared(sequential):
    refused = failed(Choice("reduce_sequential", 4096, 33), NotRunnable("no"))
    change = changes.change(refused, sequential, "barriers")
    assert change.before is None and "nothing to compare" in change.sentence
    assert changes.change(None, sequential, "findings").before is None
    assert changes.line_values(refused, "barriers") == {}


# Large enough that every ladder shows its point, small enough to be quick.
SMALL = {"reduction": 2**20, "matmul": 128, "tensor": 256, "trapezoid": 8192, "memory": 2**12, "matrix_sums": 256,
         "atomics": 2**13, "volta": 256, "aggregate": 2**14, "floats": 2**14, "transpose": 256}  # fmt: skip


@cache
def counted(choice, schedule):
    return measure(choice, schedule=schedule)


def told(ladder, position):
    """What became of the counter that the rung is meant to show."""
    rungs = ladder.rungs[position - 1 : position + 1]
    # A lock that needs lanes which run by themselves is looked at so.
    alone = any(KERNELS[rung.kernel].expect == "deadlock" for rung in rungs)
    runs = []
    for rung in rungs:
        kernel = KERNELS[rung.kernel]
        block = ladder.block_size if ladder.block_size in kernel.block_sizes else kernel.block_sizes[-1]
        dtype = ladder.dtype if ladder.dtype in kernel.dtypes else kernel.dtypes[0]
        combine = rung.combine or kernel.combines[0]
        choice = Choice(rung.kernel, SMALL[ladder.topic], block, dtype=dtype, device="emulator", combine=combine)
        runs.append(counted(choice, "independent:1" if alone else None))
    return changes.change(*runs, ladder.meant(position)[0])


def steps():
    """Every rung that is meant to show something; the quick run takes the first of each ladder of a lecture,
    the thorough one all of those ladders."""
    for name, ladder in LADDERS.items():
        meant = [position for position in range(len(ladder.rungs)) if ladder.meant(position)]
        of_a_lecture = not name.startswith("all-")
        for position in meant:
            quick = position == meant[0] and of_a_lecture
            yield case(name, position, quick=quick, thorough=of_a_lecture,
                       id=f"{name}-{ladder.rungs[position].kernel}")  # fmt: skip


@pytest.mark.sampled(quick=8, thorough=24)
@pytest.mark.parametrize(("ladder", "position"), tuple(steps()))
def test_every_rung_changes_the_counter_that_it_is_meant_to(ladder, position):
    change = told(LADDERS[ladder], position)
    assert change.direction == LADDERS[ladder].meant(position)[1], change
    assert change.sentence.endswith(".")


@pytest.mark.parametrize("ladder", LADDERS)
def test_every_rung_is_meant_to_change_something_unless_nothing_is_counted(ladder):
    entry = LADDERS[ladder]
    uncounted = [bool(host_step(plan(default_choice(rung.kernel)))) or not KERNELS[rung.kernel].emulated
                 for rung in entry.rungs]  # fmt: skip
    assert len(entry.rungs) > 1
    for position in range(1, len(entry.rungs)):
        counted = not (uncounted[position] or uncounted[position - 1])
        assert bool(entry.meant(position)) == counted, entry.rungs[position].kernel


def test_the_first_rung_shows_what_the_next_one_will_change():
    harris = LADDERS["harris"]
    assert changes.shown_counter(harris, 0) == "divergent_branches"
    assert [changes.shown_counter(harris, i) for i in (1, 2, 3)] == [
        "divergent_branches", "bank_conflicts", "warp_instructions",
    ]  # fmt: skip
    # What the next one leaves, or makes worse, is not what the first one is about.
    assert changes.shown_counter(LADDERS["crovella-order"], 0) == "atomic_max_contention"
    assert changes.shown_counter(LADDERS["cs121-access"], 0) == "sectors_per_load"


@pytest.mark.thorough
def test_a_picture_of_wide_accesses_has_fewer_steps_so_that_it_loads_quickly():
    trace = trace_of(Choice("matmul_warp_tile", 128, 16, dtype="float32", device="emulator"))
    found = moments(trace, 0)
    figure = bank_figure(trace, 0)
    assert len(figure["frames"]) == len(shown_moments(found)) < MOST_FRAMES
    assert len(json.dumps(figure)) < 1_000_000

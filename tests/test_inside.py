"""Counters by line, from rung to rung, and beside the hardware's."""

import json
from dataclasses import replace

import pytest

from engine import inside
from engine.catalogue import KERNELS, LADDERS
from engine.measure import failed, measure
from engine.records import Choice, NotRunnable


def run(kernel, n=4096, **more):
    return measure(Choice(kernel, n, 128, device="emulator", **more))


@pytest.fixture(scope="module")
def strided():
    return run("reduce_strided")


@pytest.fixture(scope="module")
def sequential():
    return run("reduce_sequential")


@pytest.mark.parametrize("kernel", KERNELS.values(), ids=KERNELS)
def test_what_a_kernel_shows_is_a_counter(kernel):
    assert kernel.shows in ("", *inside.TITLES)


def test_the_lines_add_up_to_the_whole(strided):
    whole = inside.values_of(strided)
    for counter in ("warp_instructions", "bank_conflicts", "sectors", "barriers", "wavefronts"):
        assert sum(inside.heat(strided, counter).values()) == whole[counter]


def test_the_conflicts_stand_at_the_line_that_makes_them(strided, sequential):
    conflicts = inside.heat(strided, "bank_conflicts")
    assert {line for line, value in conflicts.items() if value} == {22}
    assert not any(inside.heat(sequential, "bank_conflicts").values())


def test_conflicts_of_doubles_are_those_beyond_the_passes_that_eight_bytes_need():
    assert inside.values_of(run("reduce_sequential", dtype="float64"))["bank_conflicts"] == 0
    assert inside.values_of(run("reduce_strided", dtype="float64"))["bank_conflicts"] > 0


def test_a_rung_of_the_cpu_was_not_counted():
    scalar = measure(Choice("trapezoid_scalar", 1024, 256, dtype="float64", device="emulator"))
    assert set(inside.values_of(scalar).values()) == {None}


def test_findings_are_counted_at_both_lines():
    racy = run("reduce_racy")
    found = inside.heat(racy, "findings")
    assert found and inside.values_of(racy)["findings"] == len(racy.findings)
    assert set(found) == {line for f in racy.findings for line in (f["line"], f["other_line"]) if line}


def test_shares_are_parts_of_the_hottest_line():
    assert inside.shares({3: 10, 4: 40}, "barriers") == {3: 0.25, 4: 1.0}
    assert inside.shares({3: 32, 4: 8}, "active_lanes_per_instruction") == {3: 0.0, 4: 0.75}
    assert inside.shares({3: 0}, "barriers") == {3: 0.0} and inside.shares({}, "barriers") == {}


def test_a_change_is_a_sentence(strided, sequential):
    change = inside.change(strided, sequential, "bank_conflicts")
    assert change.before and change.after == 0
    assert change.sentence.startswith("Bank conflicts fall from") and change.sentence.endswith("to none.")
    assert "a factor of" in inside.change(strided, sequential, "warp_instructions").sentence
    assert "rise from none to" in inside.change(sequential, strided, "bank_conflicts").sentence
    assert "stay at" in inside.change(sequential, sequential, "barriers").sentence


def test_what_was_not_counted_is_none_and_is_not_compared(sequential):
    refused = failed(Choice("reduce_sequential", 4096, 33), NotRunnable("no"))
    change = inside.change(refused, sequential, "barriers")
    assert change.before is None and "nothing to compare" in change.sentence
    assert inside.change(None, sequential, "findings").before is None
    assert inside.heat(refused, "barriers") == {}
    assert inside.counter_text("barriers", None) == ""


@pytest.mark.parametrize("ladder", ["harris", "cs121-tiling", "cooper"])
def test_every_rung_of_a_lecture_changes_the_counter_that_it_shows(ladder):
    rungs = LADDERS[ladder].rungs
    n, block = {"harris": (2**20, 128), "cs121-tiling": (64, 8), "cooper": (4096, 128)}[ladder]
    dtype = LADDERS[ladder].dtype
    runs = [measure(Choice(r.kernel, n, block, dtype=dtype, device="emulator", combine=r.combine)) for r in rungs]
    for position in range(1, len(rungs)):
        counter = KERNELS[rungs[position].kernel].shows
        if counter:
            change = inside.change(runs[position - 1], runs[position], counter)
            assert change.before != change.after, (rungs[position].kernel, change)
            if counter != "atomics":  # the one that a rung brings in
                assert change.after < change.before, change


def test_the_first_rung_shows_what_the_next_one_will_change():
    harris = LADDERS["harris"]
    assert inside.shown_counter(harris, 0) == "divergent_branches"
    assert [inside.shown_counter(harris, i) for i in (1, 2, 3)] == [
        "divergent_branches", "bank_conflicts", "warp_instructions",
    ]  # fmt: skip


def test_recorded_hardware_counters_are_those_of_the_same_choice(tmp_path, monkeypatch):
    file = tmp_path / "counters.json"
    row = {"kernel": "reduce_strided", "n": 4096, "block_size": 128, "dtype": "int32", "shared_load_wavefronts": 5,
           "shared_load_conflicts": 3, "shared_store_conflicts": 1}  # fmt: skip
    file.write_text(json.dumps({"device": "NVIDIA H200", "date": "2026-11-21", "kernels": [row]}))
    monkeypatch.setattr(inside, "recorded_files", lambda: (file,))
    inside._hardware.cache_clear()
    try:
        choice = Choice("reduce_strided", 4096, 128)
        found = inside.recorded(choice)
        assert found is not None and found.device == "NVIDIA H200" and found.counters["bank_conflicts"] == 4
        for other in (replace(choice, n=8192), replace(choice, combine="host"), replace(choice, dtype="float32")):
            assert inside.recorded(other) is None
        assert inside.recorded_sizes(replace(choice, n=8192)) == [found]
    finally:
        monkeypatch.undo()
        inside._hardware.cache_clear()

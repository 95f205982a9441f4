"""The frames of a picture against the trace and the counters: nothing is drawn that did not happen."""

from __future__ import annotations

import json
from collections import defaultdict
from collections.abc import Sequence
from dataclasses import asdict

import pytest
from hypothesis import given
from hypothesis import strategies as st

from engine.backends.emulator.registers.masks import WARP
from engine.backends.emulator.watching import results
from engine.backends.emulator.watching.observer import hooks_of
from engine.backends.emulator.watching.wavefronts import BANKS, WORD
from engine.catalogue import KERNELS, LADDERS, default_choice
from engine.picture import picture as pictures
from engine.picture.frames import active_threads, run_lengths
from engine.picture.picture import Picture, packed, picture
from engine.plan import settle
from engine.records import Choice, NotRunnable
from tests.cases import case
from tests.made import measure

TREES = [rung.kernel for rung in LADDERS["harris"].rungs]
ONE_BLOCK = 128


def alone(kernel: str, n: int = ONE_BLOCK, dtype: str = "int32", block_size: int = 128) -> Choice:
    """One block, which gives the answer by itself."""
    return Choice(kernel, n, block_size, dtype=dtype, device="emulator")


def drawn(choice: Choice, **how: int) -> Picture:
    return picture(settle(choice), **how)


def counted(choice: Choice) -> dict[str, float]:
    counters = measure(choice).counters
    assert counters is not None
    return dict(counters)


def out_of_runs(runs: Sequence[int]) -> list[int]:
    """The numbers that `in_runs` wrote, as `views/picture/` reads them."""
    groups = zip(runs[::3], runs[1::3], runs[2::3], strict=True)
    return [first + step * number for count, first, step in groups for number in range(count)]


@given(st.lists(st.integers(-1, 40)))
def test_runs_say_the_same_numbers(numbers):
    assert out_of_runs(run_lengths(numbers)) == numbers


def test_evenly_spaced_places_take_three_numbers():
    assert run_lengths(range(0, 4096, 8)) == (512, 0, 8)
    assert run_lengths([0, 0, 0, 4, 4, 4]) == (3, 0, 0, 3, 4, 0)


class Replay:
    """What the words of shared memory and the hands of the threads hold, frame by frame, from the picture alone."""

    def __init__(self, shown: Picture) -> None:
        self.shown, self.words, self.hands, self.told = shown, {}, {}, []

    def play(self):
        for frame in self.shown.frames:
            yield frame, active_threads(frame.lanes)
            self.take(frame, active_threads(frame.lanes))

    def take(self, frame, threads):
        for shuffle in frame.shuffles:
            self.hands.update(zip(threads, shuffle.values, strict=False))
        for combined in frame.sums:
            self.hands.update(zip(threads, combined.values, strict=True))
        for touch in frame.touches:
            if self.shown.arrays[touch.array].space == "shared" and touch.kind == "store":
                self.words.update(zip(out_of_runs(touch.places), touch.values, strict=True))
            elif touch.kind == "load" and touch.values:
                self.hands.update(zip(threads, touch.values, strict=True))
            elif touch.kind in ("store", "atomic"):
                self.told.append(touch.values)


@pytest.mark.sampled(quick=3)
@pytest.mark.parametrize("kernel", TREES)
def test_every_addition_of_a_picture_adds_the_values_in_place(kernel):
    choice = alone(kernel)
    replay, additions = Replay(drawn(choice)), 0
    for frame, threads in replay.play():
        for combined in frame.sums:
            assert combined.symbol == "+"
            sides = []
            for operand in combined.operands:
                if operand.source != "lane":  # what a thread has at hand, or has just taken
                    replay.hands.update(zip(threads, operand.values, strict=True))
            for operand in combined.operands:
                places = out_of_runs(operand.places) or [None] * len(threads)
                sides.append(operand.values)
                if operand.source == "own":
                    continue
                for thread, place, value in zip(threads, places, operand.values, strict=True):
                    if operand.source == "lane":
                        assert place == thread or replay.hands[place] == value
                    elif place != -1 and replay.shown.arrays[operand.source].space == "shared":
                        assert replay.words[place] == value
            assert [sum(pair) for pair in zip(*sides, strict=True)] == list(combined.values)
            additions += len(threads)
    result = measure(choice).check
    assert result is not None and additions >= ONE_BLOCK - 1
    assert replay.told[-1] == (result.result,)


@pytest.mark.parametrize("kernel", ["reduce_interleaved", "reduce_strided", "reduce_sequential"])
def test_the_first_trees_make_one_addition_less_than_elements(kernel):
    shown = drawn(alone(kernel))
    assert sum(len(active_threads(frame.lanes)) for frame in shown.frames for _ in frame.sums) == ONE_BLOCK - 1
    levels = [len(active_threads(frame.lanes)) for frame in shown.frames if frame.sums]
    assert levels == [64, 32, 16, 8, 4, 2, 1]


@pytest.mark.parametrize("kernel", [case(kernel, quick=kernel in TREES[:4]) for kernel in [
    *TREES, "histogram_shared", "banks_strided", "block_prefix_sum", "row_sums_block", "branch_exchange"]])  # fmt: skip
def test_slots_passes_and_conflicts_are_those_that_are_counted(kernel):
    """A plan of one block: the picture's own sums are the counters."""
    n = {"row_sums_block": 1, "block_prefix_sum": 100, "banks_strided": 128}.get(kernel, ONE_BLOCK)
    choice = alone(kernel, n, default_choice(kernel).dtype)
    shown, counters = drawn(choice), counted(choice)
    assert shown.blocks == shown.launches == 1 and shown.whole
    touches = [(shown.arrays[touch.array].space, touch) for frame in shown.frames for touch in frame.touches]
    extra = 0
    passes = defaultdict(int)
    for space, touch in touches:
        passes[f"{space}_{touch.kind}"] += sum(touch.passes)
        extra += sum((-(-count // (1 if space == "shared" else 4))) - 1 for count in touch.passes if count)
    assert shown.slots - extra == counters["warp_instructions"]
    assert sum(frame.slots for frame in shown.frames) == shown.slots
    assert passes["shared_load"] == counters["shared_load_wavefronts"]
    assert passes["shared_store"] == counters["shared_store_wavefronts"]
    assert passes["global_load"] == counters["global_load_sectors"]
    assert sum(sum(touch.conflicts) for _, touch in touches) == counters["bank_conflicts"]
    barriers = [sum(map(bool, frame.lanes)) for frame in shown.frames if frame.kind == "barrier"]
    assert sum(barriers) == counters["barriers"]
    split = sum(
        0 < jump != lanes for frame in shown.frames for jump, lanes in zip(frame.taken, frame.lanes, strict=False)
    )
    assert split == counters["divergent_branches"]


@pytest.mark.parametrize(
    ("kernel", "deepest"), [("reduce_strided", 4), ("reduce_sequential", 1), ("banks_strided", 32)]
)
def test_a_bank_is_stacked_as_high_as_the_passes_that_serve_it(kernel, deepest):
    shown = drawn(alone(kernel, 128))
    found = 1
    for frame in shown.frames:
        threads = active_threads(frame.lanes)
        for touch in frame.touches:
            array = shown.arrays[touch.array]
            if array.space != "shared":
                continue
            stacks = defaultdict(set)
            for thread, place, served in zip(
                threads, out_of_runs(touch.places), out_of_runs(touch.served), strict=True
            ):
                stacks[thread // WARP, (array.start + place) // WORD % BANKS].add(served)
            for warp, passes in enumerate(touch.passes):
                assert max([len(stack) for (w, _), stack in stacks.items() if w == warp], default=0) <= passes
                highest = max((max(stack) for (w, _), stack in stacks.items() if w == warp), default=0)
                assert highest == passes
            found = max(found, *touch.passes)
    assert found == deepest


def test_the_tiles_walk_along_the_rows_of_m_and_down_the_columns_of_n():
    shown = drawn(
        Choice("matmul_tiled", 64, 16, dtype="float32", device="emulator"), block=5
    )  # row 1, column 1 of tiles
    names = {array.name: number for number, array in enumerate(shown.arrays)}
    assert shown.arrays[names["M"]].columns == 64 and shown.shape == (16, 16, 1)
    corners = defaultdict(list)
    for frame in shown.frames:
        for touch in frame.touches:
            for name in ("M", "N", "P"):
                if touch.array == names.get(name):
                    corners[name].append(divmod(out_of_runs(touch.places)[0] // 4, 64))
    assert corners["M"] == [(16, 0), (16, 16), (16, 32), (16, 48)]
    assert corners["N"] == [(0, 16), (16, 16), (32, 16), (48, 16)]
    assert corners["P"] == [(16, 16)]
    multiplied = sum(frame.combined for frame in shown.frames if any(s.symbol == "× +" for s in frame.sums))
    assert multiplied == 64  # by every thread: n of them make an element of P
    stored = next(touch for frame in shown.frames for touch in frame.touches if touch.array == names["P"])
    last = [frame for frame in shown.frames if frame.sums][-1].sums[-1]
    assert stored.values == last.values


def test_loads_of_one_array_are_seen_one_after_the_other():
    shown = drawn(Choice("matmul_naive", 16, 16, dtype="float32", device="emulator"))
    assert any(touch.kind == "load" for frame in shown.frames for touch in frame.touches)
    for frame in shown.frames:
        loads = [touch.array for touch in frame.touches if touch.kind == "load"]
        assert len(loads) == len(set(loads))


def test_shuffles_name_the_lane_that_is_read():
    shown = drawn(alone("warp_movements", 128))
    frames = [frame for frame in shown.frames if frame.shuffles]
    assert len(frames) >= 4
    for frame in frames:
        for shuffle in frame.shuffles:
            sources = out_of_runs(shuffle.sources)
            assert len(sources) == 128 and all(a // WARP == b // WARP for a, b in zip(sources, range(128), strict=True))


def test_independent_lanes_stand_at_different_lines():
    lockstep, apart = (
        picture(settle(Choice("branch_order", 128, 128, device="emulator", schedule=schedule)))
        for schedule in (None, "independent:1")
    )
    assert len(apart.frames) > len(lockstep.frames) and "independent" in apart.schedule


@pytest.mark.sampled(thorough=10)
@pytest.mark.parametrize(
    "name",
    [case(name, quick=name == "heidelberg-volta", thorough=name != "beyond-tiling")
     for name in LADDERS if name[:4] != "all-"],
)  # fmt: skip
def test_every_rung_that_has_a_block_has_a_picture_of_bounded_size(name):
    ladder = LADDERS[name]
    assert ladder.rungs
    for rung in ladder.rungs:
        n = ladder.emulator_n or min(
            ladder.n, 4096 if ladder.topic not in ("matmul", "matrix_sums", "transpose") else 64
        )
        choice = settle(
            Choice(rung.kernel, n, ladder.block_size, dtype=ladder.dtype, device="emulator", combine=rung.combine)
        )
        try:
            made = packed(choice)
        except NotRunnable as refused:
            assert KERNELS[rung.kernel].processor == "cpu" or not KERNELS[rung.kernel].emulated, refused
            continue
        assert json.loads(made.text)["frames"] and len(made.text) < 1_800_000, rung.kernel
        assert made.ended is None or "waits" in made.ended, made.ended


def test_a_picture_is_bounded_and_says_so(monkeypatch):
    monkeypatch.setattr(pictures, "MOST_FRAMES", 5)
    shown = drawn(alone("reduce_sequential"))
    assert len(shown.frames) == 5 and not shown.whole
    monkeypatch.setattr(pictures, "MOST_VALUES", 0)
    valued = [frame for frame in drawn(alone("reduce_sequential")).frames if frame.touches and frame.touches[0].values]
    assert len(valued) <= 1


def test_numbers_that_json_does_not_know_are_left_out():
    source = """extern "C" __global__ void reduce_sequential(const T *in, T *out, unsigned int n)
{
    out[threadIdx.x] = in[threadIdx.x] / T(0);
}
"""
    choice = Choice(
        "reduce_sequential", 32, 32, dtype="float32", device="emulator", source=source, source_name="mine.cu"
    )
    text = json.dumps(asdict(drawn(choice)))
    assert "Infinity" not in text and "NaN" not in text and "null" in text


def test_an_ordinary_run_keeps_no_values():
    """What the picture wants to know costs the other runs nothing: nobody asks them."""
    hooks = hooks_of(results.usual_observers())
    assert hooks.on_access and not hooks.on_result

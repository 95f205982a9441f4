"""How many elements a thread should take: the sweep, and the lecture's claim about it."""

from dataclasses import replace

import pytest

from engine.history.history import Known
from engine.lectures.arithmetic import elements
from engine.records import Choice
from tests.history.test_history import measured
from tests.sentences import says

STRIDE = Choice("reduce_grid_stride_atomic", 2**22, 128, device="gpu")
DEVICE = {"kind": "gpu", "name": "NVIDIA H200", "multiprocessors": 132, "compute_capability": "90"}


def test_the_sweep_has_a_grid_for_every_number_of_elements():
    made = elements.sweep_choices(STRIDE)
    assert [each for each, _ in made] == [2**power for power in range(15)]
    for each, choice in made:
        assert choice.grid_size * 128 * each == STRIDE.n
    assert elements.sweep_choices(replace(STRIDE, kernel="reduce_sequential")) == ()


def points(times: dict[int, float], choice: Choice = STRIDE) -> tuple[elements.Division, ...]:
    made = elements.sweep_choices(choice)
    facts = [Known(live=measured(one, time_us=times[e], device=DEVICE) if e in times else None) for e, one in made]
    return elements.divisions(made, facts)


def test_the_claim_is_judged_by_the_measured_sweep():
    slow = points({2**power: 4.0 + 0.01 * abs(8 - 2**power) for power in range(15)})
    found = elements.judgement(slow, elements.room(DEVICE))
    assert found.holds is False and found.best is not None and found.best.elements == 8
    assert "Not true here. NVIDIA H200, live, N = 2^22" in found.sentence
    assert says("elements.room", found.sentence)
    right = elements.judgement(points({2**power: 100.0 - (power == 11) * 40 for power in range(15)}))
    assert right.holds is True and "2,048 elements per thread" in right.sentence
    level = elements.judgement(points({2**power: 100.0 - (power == 3) for power in range(15)}))
    assert level.holds is True and "1,024 take the same within 3%" in level.sentence


def test_without_enough_times_there_is_no_verdict():
    assert elements.judgement(points({})).holds is None
    assert "no times are known" in elements.judgement(points({})).sentence
    assert "2 of 15 times" in elements.judgement(points({1024: 1.0, 2048: 2.0})).sentence
    assert "choose a larger N" in elements.judgement(points({}, replace(STRIDE, n=4096))).sentence
    mixed = points({1: 2.0, 2048: 1.0})
    other = [replace(point, origin="another GPU") if point.elements == 1 else point for point in mixed]
    assert "different machines" in elements.judgement(other).sentence
    assert elements.room({"name": "a GPU"}) is None


def test_a_sweep_recorded_with_another_block_size_is_found(monkeypatch: pytest.MonkeyPatch):
    def recorded(choice: Choice) -> object:
        return measured(choice, origin="recorded") if choice.block_size == 256 else None

    monkeypatch.setattr(elements, "recorded_for", recorded)
    assert elements.recorded_blocks(STRIDE) == (256,)
    assert elements.recorded_blocks(replace(STRIDE, block_size=256)) == ()


@pytest.mark.parametrize(
    ("values", "column", "key"),
    [
        ({16: 100.0, 1024: 98.0}, "bandwidth_gb_s", "elements.holds"),
        ({16: 100.0, 1024: 90.0}, "bandwidth_gb_s", "elements.best-elsewhere"),
        ({16: 100.0, 2048: 102.0}, "time_us", "elements.holds-for-time"),
        ({16: 100.0, 2048: 110.0}, "time_us", "elements.fails-for-time"),
        ({16: 100.0, 512: 110.0}, "time_us", "elements.larger-n"),
        ({1024: 100.0, 2048: 90.0}, "time_us", "elements.too-few"),
    ],
)
def test_a_claim_holds_within_three_percent(values: dict[int, float], column: str, key: str) -> None:
    said = elements.judged_variants({"Warp shuffle": values}, tuple(values), column == "time_us", "a GPU")
    assert says(key, said)

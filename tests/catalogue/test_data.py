"""The data: random, never zero, and with sums that are known exactly."""

import math
from dataclasses import replace

import numpy as np
import pytest

from engine.catalogue import atomic_checks, atomics, data
from engine.records import Choice


@pytest.mark.sampled(quick=3)
@pytest.mark.parametrize("dtype", ["int32", "float32", "float64"])
@pytest.mark.parametrize("count", [1, 2, 1000, data.PERIOD, data.PERIOD + 1, 3 * data.PERIOD + 17])
def test_the_reference_sum_is_the_exact_sum(dtype: str, count: int):
    numbers = data.repeated(data.period(dtype, 7), count)
    assert numbers.shape == (count,) and numbers.all()
    expected = int(numbers.astype(np.int64).sum()) if dtype == "int32" else math.fsum(numbers.tolist())
    assert data.exact_sum(dtype, 7, count) == expected


@pytest.mark.parametrize("dtype", ["int32", "float32", "float64"])
@pytest.mark.parametrize(("start", "count"), [(1, 1), (3, 1000), (7, data.PERIOD), (data.PERIOD + 2, 99)])
def test_the_sum_of_a_slice_is_exact_too(dtype: str, start: int, count: int):
    numbers = data.repeated(data.period(dtype, 7), start + count)[start:]
    expected = int(numbers.astype(np.int64).sum()) if dtype == "int32" else math.fsum(numbers.tolist())
    assert data.exact_sum(dtype, 7, count, start) == expected


def test_int32_sums_wrap_to_32_bits():
    whole = data.exact_sum("int32", 7, data.PERIOD)
    many = 2**40
    numbers = data.period("int32", 7).astype(object)
    periods, rest = divmod(many, data.PERIOD)
    exact = int(periods * numbers.sum() + numbers[:rest].sum())
    assert data.exact_sum("int32", 7, many) == (exact + 2**31) % 2**32 - 2**31
    assert -(2**31) <= whole < 2**31


def test_squares_are_summed_over_every_period():
    numbers = data.repeated(data.period("float64", 7), data.PERIOD + 5)
    assert data.sum_of_squares("float64", 7, data.PERIOD + 5) == pytest.approx(float(np.square(numbers).sum()))


@pytest.mark.parametrize(("schedule", "place"), [("independent:1", 14), ("waves:1", 99)])
@pytest.mark.parametrize("sign", [1, -1])
def test_another_order_searches_for_a_number_at_another_place(schedule: str, place: int, sign: int):
    numbers = sign * data.negative("float64", 7)
    turned = data.for_search(numbers, 100, schedule, sign)
    assert len(turned) == 100 and int(np.argmax(sign * turned)) == place
    assert np.flatnonzero(sign * turned > 0).tolist() == ([99] if schedule.startswith("waves") else [])
    assert (np.abs(turned).min() > 2.0**60) == schedule.startswith("independent")
    assert data.for_search(numbers, 100, None, sign) is numbers
    assert data.for_search(numbers, 2**20, schedule, sign) is numbers


@pytest.mark.parametrize("schedule", ["independent:1", "independent:5"])
def test_a_search_for_an_int_in_floats_finds_another_number(schedule: str):
    turned = data.for_search(data.negative("int32", 7), 100, schedule, 1)
    assert int(turned.astype(np.float32).max()) != turned.max()


@pytest.mark.parametrize("sign", [1, -1])
def test_the_third_order_searches_for_a_zero(sign: int):
    turned = data.for_search(sign * data.negative("int32", 7), 100, "independent:3", sign)
    assert int(np.argmax(sign * turned)) == 42 and np.flatnonzero(turned == 0).tolist() == [42]


@pytest.mark.parametrize("kind", ["int32", "float32", "float64"])
@pytest.mark.parametrize("sign", [1, -1])
def test_an_order_with_an_even_seed_searches_among_the_smallest_numbers(kind: str, sign: int):
    numbers = data.for_search(data.period(kind, 7), 100, "independent:2", sign)
    limits = np.finfo(kind) if kind.startswith("float") else np.iinfo(kind)
    assert int(np.argmax(sign * numbers.astype(float))) == 28
    others = np.delete(numbers, 28)
    assert (others == (limits.min if sign > 0 else limits.max)).all() and sign * (float(numbers[28]) - others[0]) > 0


def test_a_file_of_ones_own_adds_ints_from_the_whole_range_with_blocks_in_waves():
    own = Choice("reduce_sequential", 5000, 128, dtype="int32", schedule="waves:1", source="mine")
    numbers = data.for_sums(own, 7)
    assert int(np.abs(numbers.astype(np.int64)).max()) > 0.9 * 2**31
    exact = int(numbers[10:5000].astype(np.int64).sum())
    assert data.exact_sum("int32", 7, 4990, 10, data.is_wide(own)) == (exact + 2**31) % 2**32 - 2**31
    for other in (replace(own, schedule="independent:1"), replace(own, source=None)):
        assert data.for_sums(other, 7) is data.period("int32", 7) and not data.is_wide(other)
    assert data.for_sums(replace(own, dtype="float32"), 7) is data.period("float32", 7)


@pytest.mark.parametrize("dtype", ["float32", "float64"])
def test_a_file_that_adds_floats_by_compare_and_swap_gets_a_nan_where_warps_run_independently(dtype: str):
    own = Choice("atomic_add_cas", 33, 64, dtype=dtype, schedule="independent:1", source="mine")
    numbers, count = atomics.input_recipe(own)["in"]
    assert count == len(numbers) == 33 and np.flatnonzero(np.isnan(numbers)).tolist() == [16]
    others = {"schedule": "waves:1"}, {"schedule": None}, {"source": None}, {"dtype": "int32"}, {"kernel": "atomic_add"}
    for other in others:
        numbers, _ = atomics.input_recipe(replace(own, **other))["in"]
        assert not np.isnan(numbers).any()


def test_the_sum_of_an_address_with_a_nan_is_a_nan_and_no_other_sum_is():
    numbers = data.with_a_nan("float32", 7, 33)
    sums = np.zeros(16, np.float32)
    np.add.at(sums, np.arange(33) % 16, numbers)
    assert np.flatnonzero(np.isnan(sums)).tolist() == [0]
    assert atomic_checks.sums_by_address(numbers, sums, 16, 3).ok
    for place, value in ((0, 1.0), (1, np.nan), (1, 9.0)):
        wrong = sums.copy()
        wrong[place] = value
        found = atomic_checks.sums_by_address(numbers, wrong, 16, 3)
        assert not found.ok and found.at == place

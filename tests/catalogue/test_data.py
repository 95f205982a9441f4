"""The data: random, never zero, and with sums that are known exactly."""

import math

import numpy as np
import pytest

from engine.catalogue import data


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
    numbers = data.period("float64", 7)
    turned = data.for_search(numbers, 100, schedule, sign)
    assert len(turned) == 100 and int(np.argmax(sign * turned)) == place
    assert (np.abs(turned).min() > 2.0**60) == schedule.startswith("independent")
    assert data.for_search(numbers, 100, None, sign) is numbers
    assert data.for_search(numbers, 2**20, schedule, sign) is numbers


@pytest.mark.parametrize("kind", ["int32", "float32", "float64"])
@pytest.mark.parametrize("sign", [1, -1])
def test_an_order_with_an_even_seed_searches_among_the_smallest_numbers(kind: str, sign: int):
    numbers = data.for_search(data.period(kind, 7), 100, "independent:2", sign)
    limits = np.finfo(kind) if kind.startswith("float") else np.iinfo(kind)
    assert int(np.argmax(sign * numbers.astype(float))) == 28
    others = np.delete(numbers, 28)
    assert (others == (limits.min if sign > 0 else limits.max)).all() and sign * (float(numbers[28]) - others[0]) > 0

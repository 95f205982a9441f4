"""Random arrays differ from each other, have both signs and no equal neighbours, and their sums are exact."""

from __future__ import annotations

import numpy as np
import pytest

from engine.lab.arguments import argument_of, filled, random_numbers
from engine.lab.references import check_against

TYPES = ("int8", "uint8", "int16", "int32", "uint32", "int64", "float16", "float32", "float64", "complex64")


def numbers_of(name: str, count: int = 1000, place: int = 0, trial: int = 0) -> np.ndarray:
    return random_numbers(count, np.dtype(name), place, trial)


@pytest.mark.parametrize("name", TYPES)
def test_every_argument_and_every_trial_gets_other_numbers(name: str) -> None:
    made = [numbers_of(name, place=place, trial=trial) for place in range(3) for trial in range(3)]
    assert np.array_equal(made[0], numbers_of(name))
    for at, one in enumerate(made):
        assert all(np.mean(one == other) < 0.2 for other in made[:at])
        assert (one != 0).all()
        assert not np.array_equal(one, np.sort(one))


@pytest.mark.parametrize("name", TYPES)
def test_neighbours_differ_and_in_every_third_trial_some_are_equal(name: str) -> None:
    for trial in range(6):
        one = numbers_of(name, trial=trial)
        equal = np.mean(one[1:-2] == one[2:-1])
        assert 0.1 < equal < 0.2 if trial % 3 == 2 else equal == 0


@pytest.mark.parametrize("name", ["int8", "int32", "int64", "float32", "float64"])
def test_negative_numbers_are_far_from_0(name: str) -> None:
    for place in range(3):
        assert numbers_of(name, 300, place, trial=1).max() < -5


@pytest.mark.parametrize("name", [name for name in TYPES if name != "complex64"])
@pytest.mark.parametrize("count", [1, 2, 100])
def test_the_largest_is_the_last_and_in_odd_trials_the_first_of_negative_numbers(name: str, count: int) -> None:
    even, odd = numbers_of(name, count), numbers_of(name, count, trial=1)
    assert even.argmax() == count - 1 and even.max() > 0 and odd.argmax() == 0
    if not name.startswith("u"):
        assert (odd < 0).all() and (count == 1 or even.min() == even[0] < 0)
    assert (even == even.max()).sum() == (odd == odd.max()).sum() == 1


def test_a_multiple_of_floats_that_is_cut_to_whole_numbers_is_found_in_further_trials() -> None:
    for trial in range(7):
        numbers = numbers_of("float32", trial=trial) * 2**trial
        assert (numbers * 4 == np.rint(numbers * 4)).all() and np.mean(numbers * 2 == np.rint(numbers * 2)) < 0.6


@pytest.mark.parametrize("count", [1000, 65_536, 1 << 20])
def test_one_float_left_out_of_a_sum_is_found(count: int) -> None:
    numbers = numbers_of("float32", count)
    for lost in (count - 1, 0, count // 2, int(np.abs(numbers).argmin())):
        answer = np.array([numbers.astype(float).sum() - numbers[lost]], np.float32)
        assert not check_against("sum", {"in": numbers}, {"out": answer}, ("in",), "out").ok
    in_order = np.array([np.cumsum(numbers[::-1])[-1]], np.float32)
    assert check_against("sum", {"in": numbers}, {"out": in_order}, ("in",), "out").error_bound == 0


def test_one_product_left_out_of_a_matrix_product_is_found() -> None:
    a, b = (numbers_of("float32", 256 * 256, place).reshape(256, 256) for place in (0, 1))
    right = (a.astype(float) @ b).astype(np.float32)
    assert check_against("matrix-product", {"A": a, "B": b}, {"C": right}, ("A", "B"), "C").error_bound == 0
    right[-1, -1] -= a[-1, -1] * b[-1, -1]
    assert not check_against("matrix-product", {"A": a, "B": b}, {"C": right}, ("A", "B"), "C").ok


def test_arguments_are_told_apart_by_their_place() -> None:
    one, two = (argument_of("float32[64]=random", place) for place in (0, 1))
    assert isinstance(one, np.ndarray) and not np.array_equal(one, two)
    indices = argument_of("int32[64]=indices")
    assert isinstance(indices, np.ndarray) and indices.min() >= 0 and indices.max() < 64
    assert (filled((2, 3), np.dtype("i4"), "range") == np.arange(6).reshape(2, 3)).all()

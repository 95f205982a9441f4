"""Every reference takes the right answer of a kernel's array and refuses a wrong one, in whole numbers and floats."""

from __future__ import annotations

from pathlib import Path

import numpy as np
import pytest

from engine.lab.references import REFERENCES, check_against
from engine.records import Array, NotRunnable

WHOLE, F = np.int32, np.float32
ROW = np.array([3, 1, 4, 1, 5, 9], WHOLE)
# The name, the arrays that it reads, its numbers -> the answer, in whole numbers that no rounding changes.
CASES = (
    ("sum", [ROW], (), [23]),
    ("max", [-ROW], (), [-1]),
    ("prefix-sum", [ROW], (), [3, 4, 8, 9, 14, 23]),
    ("exclusive-prefix-sum", [ROW], (), [0, 3, 4, 8, 9, 14]),
    ("matrix-product", [ROW.reshape(2, 3), ROW.reshape(3, 2)], (), [33, 40, 68, 87]),
    ("matrix-product", [ROW[:4], ROW[:4]], (), [13, 4, 16, 5]),
    ("transpose", [ROW.reshape(2, 3)], (), [3, 1, 1, 5, 4, 9]),
    ("copy", [ROW], (), [3, 1, 4, 1, 5, 9]),
    ("saxpy", [ROW, np.ones(6, WHOLE)], (3,), [10, 4, 13, 4, 16, 28]),
    ("saxpy", [ROW, np.ones(6, WHOLE)], (), [7, 3, 9, 3, 11, 19]),
    ("stencil", [ROW], (), [4, 8, 6, 10, 15, 14]),
    ("stencil", [ROW], (2,), [8, 9, 14, 20, 19, 15]),
)


def test_every_reference_has_a_case() -> None:
    assert {name for name, *_ in CASES} | {"histogram"} == set(REFERENCES)


@pytest.mark.parametrize("kind", [WHOLE, F, np.float64, np.float16, np.uint8])
@pytest.mark.parametrize(("name", "arrays", "numbers", "answer"), CASES)
def test_right_is_right_and_a_number_off_is_wrong(name: str, arrays: list[Array], numbers: tuple[float, ...],
                                             answer: list[int], kind: type) -> None:  # fmt: skip
    if kind is np.uint8 and min(answer) < 0:
        return
    before = {str(place): array.astype(kind) for place, array in enumerate(arrays)}
    after = np.array([*answer, 0]).astype(kind)  # what lies behind the answer is nobody's affair
    assert check_against(name, before, {"out": after}, tuple(before), "out", numbers).ok
    for place in range(len(answer)):
        off = after.copy()
        off[place] += 4
        found = check_against(name, before, {"out": off}, tuple(before), "out", numbers)
        assert not found.ok and f"element {place}," in str(found.note) and found.off == (place,)


def test_a_histogram_counts_what_has_a_place() -> None:
    before = {"in": np.array([0, 1, 1, 3, -1, 7], WHOLE)}
    assert check_against("histogram", before, {"bins": np.array([1, 2, 0, 1], np.uint32)}, ("in",), "bins").ok
    assert not check_against("histogram", before, {"bins": np.array([1, 2, 0, 2], np.uint32)}, ("in",), "bins").ok


def test_a_sum_in_any_order_is_within_the_bound_and_a_lost_number_is_not() -> None:
    numbers = np.random.default_rng(1).random(4096).astype(F) - F(0.5)
    one_by_one = np.cumsum(numbers, dtype=F)[-1:]
    found = check_against("sum", {"in": numbers}, {"out": one_by_one}, ("in",), "out")
    assert found.ok and 0 < found.error <= found.error_bound < 0.01
    lost = np.array([numbers[:-1].sum(dtype=np.float64)], F)
    assert not check_against("sum", {"in": numbers}, {"out": lost}, ("in",), "out").ok
    assert not check_against("sum", {"in": numbers}, {"out": np.array([np.nan], F)}, ("in",), "out").ok


def test_a_sum_of_whole_numbers_that_the_type_holds_is_exact_and_a_larger_one_is_not() -> None:
    half = np.float16  # up to 2048
    for count, exact in ((2048, True), (2050, False)):
        found = check_against("sum", {"in": np.ones(count, half)}, {"out": np.array([count], half)}, ("in",), "out")
        assert found.ok and (found.error_bound == 0) == exact


def test_whole_numbers_wrap_as_on_a_gpu() -> None:
    numbers = np.full(3, 2**30, WHOLE)
    assert check_against("sum", {"in": numbers}, {"out": np.array([3 * 2**30 - 2**32], WHOLE)}, ("in",), "out").ok


@pytest.mark.parametrize(
    ("name", "before", "out", "said"),
    [
        ("median", {"a": ROW}, ROW, "no reference 'median'; there are sum, max"),
        ("sum", {"b": ROW}, ROW, "no array `a`; it has b"),
        ("saxpy", {"a": ROW}, ROW, "reads 2 of the arrays: x, y"),
        ("prefix-sum", {"a": ROW}, ROW[:3], "room for 3 numbers, and 6 are the answer"),
        ("sum", {"a": ROW.astype(F)}, ROW, "whole numbers, and the answer has not"),
        ("histogram", {"a": ROW.astype(F)}, ROW, "needs whole numbers"),
        ("transpose", {"a": ROW}, ROW, "no square matrix"),
        ("sum", {"a": ROW.astype(np.complex64)}, ROW, "plain numbers"),
        ("sum", {"a": ROW[:0]}, ROW, "no elements"),
    ],
)
def test_what_does_not_fit_is_refused_in_a_sentence(name: str, before: dict[str, Array], out: Array, said: str) -> None:
    with pytest.raises(NotRunnable, match=said):
        check_against(name, before, {"out": out}, ("a",), "out")


def test_the_page_about_the_lab_names_every_reference() -> None:
    told = (Path(__file__).parents[2] / "docs" / "lab.md").read_text(encoding="utf-8")
    assert [name for name in REFERENCES if f"{name}(" not in told] == []

"""What a formula's line is made of, which decides the numbers of its trials."""

from __future__ import annotations

import ast

import numpy as np
import pytest

from engine.lab.formula import parse, value_of
from engine.lab.formula_traits import array_divisors_in, bounds_in, moved_in, names_in, powers_in, wraps_in

SAME_BITS = (
    "2 * x + y", "x & 255", "-x ^ ~y", "where(x > y, 3 * x, x - y)", "x % 7 + 3 * x", "x // 3", "x >> 4", "abs(x)",
    "x.cumsum()", "np.square(x)", "(x * y).astype(np.int32) // 2",
    "x.astype(np.uint8).astype(np.int32) * 3", "x ** 3", "x << 5", "np.sign(x) * y", "roll(x * y, 1)",
    "(x > 0) & (y < 5)",
)  # fmt: skip
OTHERS = (
    "(x + y) // 2", "x * y > 0", "maximum(x + y, 0)", "x / 3", "x * 0.5", "(x * y) >> 1", "x // y", "sqrt(x)",
    "x.astype(np.int64) * y", "where(x + 1 > y, x, y)", "x << y", "x.mean()", "sort(x * y)", "(x << 3) >> 3",
    "np.maximum(x, y) * 5", "sort(x) + y",
)  # fmt: skip


@pytest.mark.parametrize("line", SAME_BITS)
def test_lines_have_the_bits_that_a_kernel_of_32_bits_makes_of_any_numbers(line: str) -> None:
    make = np.random.default_rng(5)
    known = {name: make.integers(-(2**31), 2**31 - 1, 400, np.int32, endpoint=True) for name in "xy"}
    assert wraps_in(line) == names_in(line)
    # NumPy's int32 wraps where a kernel's does.
    with np.errstate(all="ignore"):
        functions = {name: getattr(np, name) for name in ("where", "abs", "sort", "roll")}
        wanted = eval(line, {"np": np, **functions, **known})
    assert np.array_equal(value_of(line, known, {}).of.astype(np.int32), np.asarray(wanted).astype(np.int32))


@pytest.mark.parametrize("line", OTHERS)
def test_lines_that_divide_compare_or_choose_what_has_left_the_type_are_none_of_them(line: str) -> None:
    assert wraps_in(line) == frozenset()


def test_names_bounds_and_moves() -> None:
    assert names_in("y[c] + np.pi * in") == {"y", "in"}
    assert bounds_in("where(x > 2.5, x, 0)") == (2.5,)
    assert array_divisors_in("where(x > 2.5, 1 / x, 0)") == {"x"}
    assert moved_in("np.maximum.accumulate(x)") == {"x"} and moved_in("sort(x) + 1") == frozenset()


@pytest.mark.parametrize("line", ["softmax(x / t)", "x / t", "(x << t) + t"])
def test_a_question_about_a_line_leaves_its_tree_as_it_is(line: str) -> None:
    before = ast.dump(parse(line))
    for asked in (wraps_in, powers_in):
        asked(line, ("t",))
    assert ast.dump(parse(line)) == before

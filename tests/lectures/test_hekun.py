"""glibc's rand() without a seed."""

from itertools import pairwise

import pytest

from engine.lectures.hekun import sum_of_digits


def test_the_first_numbers_are_glibcs():
    first = [1804289383, 846930886, 1681692777, 1714636915, 1957747793, 424238335, 719885386, 1649760492]
    sums = [sum_of_digits(count) for count in range(len(first) + 1)]
    assert [after - before for before, after in pairwise(sums)] == [x % 10 for x in first]


@pytest.mark.parametrize("count", [7936, 7937])
def test_a_border_between_two_products_does_not_show(count: int):
    assert 0 <= sum_of_digits(count) - sum_of_digits(count - 1) <= 9


def test_he_kuns_sum_comes_out_exactly():
    assert sum_of_digits(10_000_000) == 45011704

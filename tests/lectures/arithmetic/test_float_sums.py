"""Float sums run again and again, and their errors beside the bounds."""

from dataclasses import replace

import numpy as np
import pytest

from engine.catalogue import floats, reduction
from engine.figures.floats import repeats_figure
from engine.lectures.arithmetic import float_sums
from engine.records import Choice, NotRunnable
from tests.made import measure
from tests.sentences import says

ATOMIC = Choice("floats_atomic", 2**24, 256, dtype="float32", device="emulator")


def test_the_order_of_atomics_shows_in_the_last_digits_and_that_of_a_tree_does_not():
    found = float_sums.repeat(ATOMIC, 6)
    assert found.choice.n == float_sums.EMULATOR_N and found.choice.parameter == 0
    assert len(found.results) == 6 and found.different > 1 and found.apart >= 1
    assert sum(count for _, count in found.distribution) == 6
    assert f"6 runs, {found.different} different answers" in float_sums.sentence(found)
    bound = float_sums.bounds(found.choice)[0]
    assert all(abs(result - found.exact) <= bound for result in found.results)
    tree = float_sums.repeat(replace(ATOMIC, kernel="floats_tree", n=2**12), 4)
    assert tree.different == 1 and tree.apart == 0 and "one answer" in float_sums.sentence(tree)


def test_the_cpu_has_one_order():
    found = float_sums.repeat(replace(ATOMIC, kernel="floats_serial", n=1000), 40)
    assert found.different == 1 and says("floats.one-order", found.orders)


def test_only_float_sums_are_repeated():
    for choice in (replace(ATOMIC, dtype="int32"), replace(ATOMIC, kernel="matmul_naive")):
        assert not float_sums.can_repeat(choice)
        with pytest.raises(NotRunnable, match="choose float32"):
            float_sums.repeat(choice, 2)
    assert float_sums.can_repeat(replace(ATOMIC, kernel="reduce_grid_stride_atomic"))


@pytest.mark.parametrize("kernel", ["reduce_atomic", "reduce_sequential", "reduce_grid_stride_atomic", "floats_tree"])
def test_every_error_stays_below_the_worst_of_its_chain(kernel: str):
    for n in (33, 5000, 2**18):
        choice = replace(ATOMIC, kernel=kernel, n=n, parameter=0 if kernel == "floats_tree" else None)
        found = float_sums.rounding(choice, measure(choice))
        assert found is not None and found.error <= found.worst
        serial, tree = float_sums.bounds(choice)
        assert tree <= serial
    assert float_sums.rounding(ATOMIC, None) is None


def test_the_sizes_are_those_of_the_numbers():
    choice = replace(ATOMIC, kernel="reduce_atomic", n=5000)
    numbers = np.resize(reduction.input_recipe(choice)["in"][0], 5000).astype(np.float64)
    assert float_sums.sum_of_sizes(choice) == pytest.approx(np.abs(numbers).sum(), rel=1e-12)
    assert float_sums.sum_of_sizes(replace(ATOMIC, n=77)) == 77


def test_bits_and_units_in_the_last_place():
    assert float_sums.bits(1.0, "float32") == "3f800000" and float_sums.bits(-2.0, "float64") == "c" + 15 * "0"
    assert float_sums.spacing(-(2.0**24), "float32") == 2
    assert float_sums.result_type(replace(ATOMIC, kernel="floats_double")) == "float64"


def test_the_figure_shows_every_answer_around_the_exact_sum():
    empty = repeats_figure(None, "atomic")
    assert "Not repeated yet" in empty["layout"]["annotations"][0]["text"]
    few = float_sums.Repeats(ATOMIC, {"kind": "emulator"}, (1.0, 1.0, 1.5), 1.25, "any order")
    figure = repeats_figure(few, "atomic")
    assert figure["data"][0]["x"] == [-0.25, 0.25] and figure["data"][0]["y"] == [2, 1]
    low, high = figure["layout"]["xaxis"]["range"]
    assert low < -0.25 and high > 0.25
    many = replace(few, results=tuple(range(100)))
    assert sum(repeats_figure(many, "atomic")["data"][0]["y"]) == 100
    same = repeats_figure(replace(few, results=(1.5, 1.5)), "tree")
    low, high = same["layout"]["xaxis"]["range"]
    assert same["data"][0]["width"] > 0.02 * (high - low) and "emulator" in same["layout"]["annotations"][0]["text"]


def test_a_sum_of_ones_is_repeated_with_random_numbers():
    assert float_sums.repeated_choice(ATOMIC).parameter == 0
    assert float_sums.repeated_choice(replace(ATOMIC, kernel="reduce_atomic")).parameter is None
    assert floats.all_ones(ATOMIC)

import numpy as np
import pytest
from hypothesis import given
from hypothesis import strategies as st

from engine.backends.timing.statistics import half_width, median, median_interval, paired_ratio, spread

samples = st.lists(st.floats(0.1, 1e6), min_size=1, max_size=300)


@given(samples)
def test_the_interval_holds_the_median_and_lies_among_the_samples(values):
    low, high = median_interval(values)
    assert low in values and high in values
    assert low <= median(values) <= high


@pytest.mark.parametrize(
    ("count", "rank"),
    [(1, 0), (5, 0), (6, 0), (9, 1), (15, 3), (20, 5), (100, 39)],  # the textbook's order-statistic table
)
def test_the_interval_is_the_order_statistic_one(count, rank):
    assert median_interval(range(count)) == (rank, count - 1 - rank)


def test_the_interval_covers_the_true_median_in_95_of_100_experiments():
    draws = np.random.default_rng(3).exponential(size=(2000, 25))
    hits = sum(low <= np.log(2) <= high for low, high in (median_interval(row.tolist()) for row in draws))
    assert 0.94 <= hits / 2000 <= 0.985  # discrete: 25 samples give 95.7%


def test_a_drift_that_falls_on_both_leaves_the_paired_ratio_alone():
    drift = np.linspace(1, 2, 60)
    ratio, low, high = paired_ratio(list(12 * drift), list(10 * drift))
    assert ratio == pytest.approx(1.2) and low == pytest.approx(1.2) and high == pytest.approx(1.2)


def test_the_ratio_interval_is_repeatable_and_holds_the_ratio():
    rng = np.random.default_rng(5)
    a, b = rng.normal(12, 1, 80).tolist(), rng.normal(10, 1, 80).tolist()
    ratio, low, high = paired_ratio(a, b)
    assert low < ratio < high and (ratio, low, high) == paired_ratio(a, b)


def test_spread_and_half_width_are_fractions_of_the_median():
    values = [90.0, 95.0, 100.0, 105.0, 110.0]
    assert spread(values) == pytest.approx(0.1)
    assert half_width(values) == pytest.approx(0.1)


@pytest.mark.parametrize("function", [median, median_interval])
def test_no_samples_are_refused(function):
    with pytest.raises(ValueError, match="no samples"):
        function([])


def test_unpaired_samples_are_refused():
    with pytest.raises(ValueError, match="paired"):
        paired_ratio([1.0], [1.0, 2.0])

"""Numbers of an axis: round, few enough, inside it, and written as a reader would."""

from __future__ import annotations

from math import log10

import pytest

from engine.figures.ticks import fitting, linear_ticks, log_ticks, tick_text


@pytest.mark.parametrize("most", [2, 3, 6, 8])
@pytest.mark.parametrize(("low", "high"), [(-9.3, 6.2), (-1.1, 0.4), (0.2, 1.7), (2.9, 3.3), (3.0, 3.0)])
def test_a_logarithmic_axis_has_few_ticks_all_inside(low: float, high: float, most: int) -> None:
    axis = log_ticks(low, high, most)
    assert len(axis["tickvals"]) == len(axis["ticktext"]) <= most
    assert all(low - 1e-6 <= log10(tick) <= high + 1e-6 for tick in axis["tickvals"])
    if high - low > 1:
        assert len(axis["tickvals"]) >= 2


@pytest.mark.parametrize("high", [0.37, 1.0, 21.2, 1500.0, 790_000.0, 1.6e7])
def test_a_linear_axis_begins_at_zero_and_has_round_steps(high: float) -> None:
    ticks = linear_ticks(high)["tickvals"]
    assert ticks[0] == 0 and ticks[-1] <= high * 1.000001 and 3 <= len(ticks) <= 6
    step = ticks[1] / 10.0 ** int(log10(ticks[1]) // 1)
    assert round(step, 6) in (1, 2, 2.5, 5)


def test_ticks_are_written_with_their_unit_and_large_ones_short() -> None:
    assert [tick_text(value) for value in (0, 0.05, 20_000, 2.5e6, 5e6)] == ["0", "0.05", "20,000", "2.5 M", "5 M"]
    assert tick_text(1e-9) == "10<sup>−9</sup>" and tick_text(2e-9) == "2·10<sup>−9</sup>"
    assert log_ticks(0, 1, unit="×")["ticktext"] == ["1×", "2×", "5×", "10×"]


def test_a_narrow_plot_has_fewer_ticks() -> None:
    wide, narrow = (fitting(lambda most: linear_ticks(790_000, most), width, 18)["ticktext"] for width in (900, 200))
    assert len(narrow) < len(wide)

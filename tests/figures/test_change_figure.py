"""Before and after, as two pairs of bars on a slide."""

from __future__ import annotations

from plotly import graph_objects

from engine.figures.change import Pair, change_figure
from engine.figures.look import Look

LOOK = Look(19, 320)
PAIRS = (
    Pair("Bank conflicts", "bank_conflicts", 1_490_000, 250_000),
    Pair("Time", "time_us", 33.0, 30.2, recorded=True),
)


def test_each_pair_has_its_own_axis_and_fits_below_the_headline() -> None:
    figure = change_figure(("#2", "#3"), PAIRS, "1.49 M → 250,000, and yet 1.09×", False, LOOK)
    graph_objects.Figure(figure)
    layout = figure["layout"]
    assert [trace["text"] for trace in figure["data"]] == [["1.49 M", "250,000"], ["33.0 µs", "30.2 µs"]]
    assert [trace["marker"]["pattern"]["shape"] for trace in figure["data"]] == [["", ""], ["/", "/"]]
    (low, high), (least, most) = (layout[name]["domain"] for name in ("yaxis", "yaxis2"))
    assert 0 <= least < most < low < high < 1 - LOOK.font / 320
    assert layout["xaxis"]["range"][1] > 1_490_000 and layout["xaxis2"]["range"][1] > 33


def test_numbers_that_are_held_back_are_nowhere_and_the_axes_stay() -> None:
    held, told = (change_figure(("#2", "#3"), PAIRS, "1.49 M → ?", held, LOOK) for held in (True, False))
    assert "250" not in str(held) and "30.2" not in str(held) and str(held).count("<b>?</b>") == 2
    assert held["layout"]["xaxis"] == told["layout"]["xaxis"] and held["layout"]["xaxis2"] == told["layout"]["xaxis2"]


def test_a_counter_that_is_not_known_says_so() -> None:
    empty = Pair("Barriers", "barriers", None, None, "Not counted yet.")
    figure = change_figure(("#2", "#3"), (empty, PAIRS[1]), "1.09× as fast", False, LOOK)
    assert "Not counted yet." in str(figure) and figure["layout"]["yaxis"]["ticktext"] == ["", ""]

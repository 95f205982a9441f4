"""Figures are plain dicts that Plotly accepts, with a label for every bar and room for it."""

from __future__ import annotations

import json
from typing import Any

import plotly.graph_objects as go
import pytest

from engine.catalogue import LADDERS, Ladder
from engine.figures.bars import MARK, ROWS, SPACE
from engine.figures.ladder import counter_bars, metric_bars, speedup_bars, time_bars
from engine.figures.look import Figure, Look, log_ticks, some
from engine.figures.sweep import size_lines
from engine.history import tables
from engine.history.history import Known
from engine.records import words
from tests.test_tables import choices, measured

HARRIS = LADDERS["harris"]


def rows_of(ladder: Ladder, facts: list[Known]) -> list[dict[str, Any]]:
    return tables.ladder_table(ladder, choices(ladder.name), facts).to_dict("records")


def table(some: bool = True) -> list[dict[str, Any]]:
    facts = [
        Known(measured(rung.kernel, 80.0 / (i + 1), origin="recorded" if i % 2 else "live",
                       counters={"barriers": 10.0 * i}))
        for i, rung in enumerate(HARRIS.rungs)
    ]  # fmt: skip
    facts[3] = Known(measured(HARRIS.rungs[3].kernel, None, status="wrong", reason="Wrong."))
    return rows_of(HARRIS, facts if some else [Known()] * len(HARRIS.rungs))


def every(frame: list[dict[str, Any]]) -> dict[str, Figure]:
    return {
        "metric": metric_bars(frame, "bandwidth_gb_s", {"Peak": 4800.0, "CUB": 1600.0}),
        "time": time_bars(frame),
        "speedup": speedup_bars(frame),
        "counter": counter_bars(frame, "barriers", 2**22),
        "hall": metric_bars(frame, "bandwidth_gb_s", {}, Look(28, 600)),
    }


@pytest.mark.parametrize("some", [True, False])
@pytest.mark.parametrize("name", ["metric", "time", "speedup", "counter", "hall"])
def test_plotly_accepts_every_figure(name: str, some: bool) -> None:
    figure = every(table(some))[name]
    go.Figure(figure)  # raises where a name or a value is none of Plotly's
    json.dumps(figure, allow_nan=False)


def test_bars_carry_their_numbers_and_their_rows_are_rungs() -> None:
    figure = every(table())["metric"]
    bars = figure["data"][0]
    assert bars["text"][0] == words.text_of("bandwidth_gb_s", bars["x"][0])
    assert figure["layout"]["meta"] == ROWS and len(figure["layout"]["yaxis"]["ticktext"]) == len(HARRIS.rungs)
    assert figure["layout"]["xaxis"]["range"][1] > 4800


def test_a_failed_rung_has_no_bar_but_its_status() -> None:
    figures = every(table())
    assert figures
    for figure in figures.values():
        assert figure["data"][0]["x"][3] is None
        assert any("wrong" in note["text"] and note["y"] == 3 for note in figure["layout"]["annotations"])


def test_recorded_bars_are_hatched_and_live_ones_are_not() -> None:
    shapes = every(table())["time"]["data"][0]["marker"]["pattern"]["shape"]
    assert shapes[0] == "" and shapes[1] == "/"


def names_of_marks(figure: Figure) -> list[str]:
    """The name and the number of each mark."""
    rows = [note["text"] for note in figure["layout"]["annotations"] if note.get("name") == MARK]
    return [part.partition("</span>")[2] for row in rows for part in row.split(SPACE)]


def test_marks_are_lines_with_a_colour_each_and_their_names_above() -> None:
    libraries = {"Memory peak": 4800.0, "CUB": 1339.0, "PyTorch": 1128.0, "CuPy": 300.0, "CUB by nvcc": 1400.0}
    figure = metric_bars(table(), "bandwidth_gb_s", libraries)
    layout = figure["layout"]
    assert {shape["x0"]: shape["layer"] for shape in layout["shapes"]} == dict.fromkeys(libraries.values(), "below")
    assert [name.partition("</b>")[0] for name in names_of_marks(figure)] == [f"<b>{name}" for name in libraries]
    assert len({shape["line"]["color"] for shape in layout["shapes"]}) == len(libraries)
    assert not metric_bars(table(some=False), "bandwidth_gb_s", libraries)["layout"]["shapes"]


def test_a_peak_far_off_the_longest_bar_has_its_number_and_no_line() -> None:
    figure = metric_bars(table(), "bandwidth_gb_s", {"Peak": 48_000.0})
    longest = max(row["bandwidth_gb_s"] or 0 for row in table())
    assert not figure["layout"]["shapes"] and figure["layout"]["xaxis"]["range"][1] < 2 * longest
    assert any("48,000" in name for name in names_of_marks(figure))


def test_the_number_behind_the_longest_bar_has_room() -> None:
    for figure in every(table()).values():
        high = figure["layout"]["xaxis"]["range"][1]
        assert max(value for value in figure["data"][0]["x"] if value is not None) < 0.75 * high


def test_an_axis_of_very_different_numbers_is_logarithmic_and_says_so() -> None:
    axes = {}
    for fast in (2.0, 4000.0):
        facts = [Known(measured(rung.kernel, fast if i else 1.0)) for i, rung in enumerate(HARRIS.rungs)]
        axes[fast] = time_bars(rows_of(HARRIS, facts))["layout"]["xaxis"]
    assert axes[2.0]["type"] == "linear" and axes[2.0]["title"]["text"] == "Time (µs)"
    assert axes[4000.0]["type"] == "log" and "log scale" in axes[4000.0]["title"]["text"]
    low, high = axes[4000.0]["range"]
    assert low < 0 and high > 3.6


def test_a_logarithmic_axis_has_dots_which_are_open_if_recorded() -> None:
    facts = [Known(measured(rung.kernel, 4000.0 if i else 1.0, origin="live" if i else "recorded"))
             for i, rung in enumerate(HARRIS.rungs)]  # fmt: skip
    (dots,) = time_bars(rows_of(HARRIS, facts))["data"]
    assert dots["mode"] == "markers+text" and dots["marker"]["symbol"] == ["circle-open"] + 10 * ["circle"]


def test_a_status_behind_a_short_bar_leaves_the_other_bars_as_long_as_they_were() -> None:
    facts = [Known(measured(rung.kernel, 10.0 * (i + 1))) for i, rung in enumerate(HARRIS.rungs)]
    before = time_bars(rows_of(HARRIS, facts))["layout"]["xaxis"]["range"]
    facts[0] = Known(measured(HARRIS.rungs[0].kernel, 10.0, status="hazard", reason="Line 30."))
    figure = time_bars(rows_of(HARRIS, facts))
    assert "hazard" in figure["data"][0]["text"][0] and figure["layout"]["xaxis"]["range"] == before


@pytest.mark.parametrize(
    ("low", "high", "most", "wanted"),
    [(0.9, 12, 5, ["1", "2", "5", "10"]), (0.9, 2e6, 4, ["1", "100", "10k", "1M"]), (300, 70_000, 9,
      ["500", "1,000", "2,000", "5,000", "10k", "20k", "50k"])],
)  # fmt: skip
def test_ticks_of_a_logarithmic_axis_are_no_more_than_fit(
    low: float, high: float, most: int, wanted: list[str]
) -> None:
    assert log_ticks(low, high, most)["ticktext"] == wanted


def test_the_outcome_of_a_run_stands_behind_the_recorded_number() -> None:
    recorded = measured(HARRIS.rungs[0].kernel, 80.0, origin="recorded")
    stuck = measured(HARRIS.rungs[0].kernel, None, status="deadlock", reason="No lane goes on.")
    facts = [Known(stuck, recorded), *[Known(measured(r.kernel, 10.0)) for r in HARRIS.rungs[1:]]]
    figure = time_bars(rows_of(HARRIS, facts))
    bars = figure["data"][0]
    assert bars["x"][0] == 80.0 and "deadlock" in bars["text"][0]
    assert figure["layout"]["xaxis"]["range"][1] > 1.3 * 80.0


def test_rungs_of_different_work_have_no_speedups_and_the_plot_says_why() -> None:
    ladder = LADDERS["cs121-access"]
    facts = [Known(measured(rung.kernel, 10.0)) for rung in ladder.rungs]
    frame = rows_of(ladder, facts)
    assert not any("different work" in note["text"] for note in speedup_bars(frame)["layout"]["annotations"])
    frame = [{**row, "cumulative": None} for row in frame]
    assert any("different work" in note["text"] for note in speedup_bars(frame)["layout"]["annotations"])


def test_an_empty_plot_tells_the_next_step() -> None:
    figures = every(table(some=False))
    assert figures
    for name, figure in figures.items():
        said = any("yet" in note["text"] for note in figure["layout"]["annotations"])
        assert said or (name == "speedup" and any(figure["data"][1]["x"]))  # the lecture's, which stand alone


def test_lines_over_n_have_their_names_beside_them_in_the_order_of_their_ends() -> None:
    kernels = list(dict.fromkeys(rung.kernel for rung in HARRIS.rungs))
    runs = [
        measured(kernel, 10.0, n=n, bandwidth_gb_s=n / (3 + i % 4))
        for i, kernel in enumerate(kernels) for n in (1024, 4096)
    ]  # fmt: skip
    figure = size_lines(tables.measurement_table(runs), "bandwidth_gb_s", {k: k for k in kernels})
    go.Figure(figure)
    assert figure["layout"]["showlegend"] and {line["name"] for line in figure["data"]} == set(kernels)
    ends = [line["y"][-1] for line in figure["data"]]
    assert ends == sorted(ends, reverse=True) and len(set(ends)) > 1


def test_lines_of_nothing_are_an_empty_figure() -> None:
    frame = tables.measurement_table([measured("reduce_strided", None, status="wrong")])
    assert size_lines(frame, "bandwidth_gb_s", {"reduce_strided": "x"})["data"] == []


def test_few_values_of_many_carry_a_tick_and_the_last_does() -> None:
    assert some([1, 2, 4]) == [1, 2, 4] and some([]) == []
    kept = some([2**i for i in range(20)], 7)
    assert len(kept) <= 7 and kept[-1] == 2**19


def test_bars_have_type_that_fits_their_rows_and_scroll_where_none_does() -> None:
    """From few rungs on a large window to more than a small one holds."""
    for rows, pane in ((3, 300), (11, 282), (12, 249), (28, 249), (28, 600)):
        look = Look.of_rows(rows, pane, smallest=12, largest=15)
        assert look.height is not None and 12 <= look.font <= 15
        margins = 28 + 5 * look.font
        assert (look.height - margins) / rows >= 1.05 * look.font, "no row meets the next"
        assert (look.pane is None) == (look.height == pane)
        assert (look.pane is None) == (rows < 20 or pane == 600)


@pytest.mark.parametrize(("rungs", "bars"), [(26, 1), (26, 2), (40, 2)])
def test_a_slide_without_room_for_all_rungs_shows_its_own_and_the_one_before(rungs: int, bars: int) -> None:
    for at in range(rungs):
        shown = Look.around(at, rungs, bars, 370, 17).rows
        assert shown is not None and len(shown) < rungs and {at, max(0, at - 1)} <= set(shown) <= set(range(rungs))


def test_the_bars_of_some_rungs_stay_on_the_axis_of_all() -> None:
    """Every rung keeps its number, by which the page marks it."""
    rungs = table()
    whole, part = (time_bars(rungs, Look(17, 370, rows=rows)) for rows in (None, range(1, 3)))
    assert part["data"][0]["x"] == [None, *whole["data"][0]["x"][1:3], *[None] * (len(rungs) - 3)]
    assert not any(text for i, text in enumerate(part["data"][0]["text"]) if i not in (1, 2))
    assert part["layout"]["xaxis"]["range"] == whole["layout"]["xaxis"]["range"]
    names = dict(zip(*(part["layout"]["yaxis"][name] for name in ("tickvals", "ticktext")), strict=True))
    assert names == {0: "⋯ 1 before", 1: "#2", 2: "#3", 3: f"⋯ {len(rungs) - 3} more"}

"""Figures are plain dicts that Plotly accepts, with a label for every bar and room for it."""

from __future__ import annotations

import itertools
import json
from math import log10

import pandas as pd
import plotly.graph_objects as go
import pytest

from engine.catalogue import LADDERS
from engine.figures.bars import ROWS
from engine.figures.ladder import counter_bars, metric_bars, speedup_bars, time_bars
from engine.figures.look import Figure, Look
from engine.figures.sweep import size_lines
from engine.figures.ticks import spread
from engine.history import tables
from engine.history.history import Known
from engine.records import words
from tests.test_tables import choices, measured

HARRIS = LADDERS["harris"]


def table(some: bool = True) -> pd.DataFrame:
    facts = [
        Known(measured(rung.kernel, 80.0 / (i + 1), origin="recorded" if i % 2 else "live",
                       counters={"barriers": 10.0 * i}))
        for i, rung in enumerate(HARRIS.rungs)
    ]  # fmt: skip
    facts[3] = Known(measured(HARRIS.rungs[3].kernel, None, status="wrong", reason="Wrong."))
    return tables.ladder_table(HARRIS, choices(), facts if some else [Known()] * len(HARRIS.rungs))


def every(frame: pd.DataFrame) -> dict[str, Figure]:
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
    for figure in every(table()).values():
        assert figure["data"][0]["x"][3] is None
        assert any("wrong" in note["text"] and note["y"] == 3 for note in figure["layout"]["annotations"])


def test_recorded_bars_are_hatched_and_live_ones_are_not() -> None:
    shapes = every(table())["time"]["data"][0]["marker"]["pattern"]["shape"]
    assert shapes[0] == "" and shapes[1] == "/"


def test_marks_are_lines_with_labels_that_do_not_meet() -> None:
    layout = every(table())["metric"]["layout"]
    assert {shape["x0"] for shape in layout["shapes"]} == {4800.0, 1600.0}
    for cub, lines in ((1600.0, 1), (4700.0, 2)):  # beside each other where there is room
        layout = metric_bars(table(), "bandwidth_gb_s", {"Peak": 4800.0, "CUB": cub})["layout"]
        labels = [note for note in layout["annotations"] if note.get("yref") == "paper"]
        assert len({note["yshift"] for note in labels}) == lines


def test_each_mark_has_a_colour_of_its_own_and_its_words_stand_on_as_few_lines_as_they_can() -> None:
    peers = {"Memory peak": 4800.0, "CUB": 1339.0, "PyTorch": 1128.0, "CuPy": 300.0, "CUB by nvcc": 1400.0}
    layout = metric_bars(table(), "bandwidth_gb_s", peers)["layout"]
    labels = [note for note in layout["annotations"] if note.get("yref") == "paper"]
    assert len({note["font"]["color"] for note in labels}) == len(peers)
    layout = metric_bars(table(), "bandwidth_gb_s", dict(list(peers.items())[:4]))["layout"]
    labels = [note for note in layout["annotations"] if note.get("yref") == "paper"]
    assert len({note["yshift"] for note in labels}) == 2


@pytest.mark.parametrize("look", [Look(), Look(19, 400), Look(28, 1000)])
def test_no_line_crosses_a_number(look: Look) -> None:
    figure = metric_bars(table(), "bandwidth_gb_s", {"Peak": 4800.0, "CUB": 1600.0}, look)
    bars, layout = figure["data"][0], figure["layout"]
    row = (layout["height"] - layout["margin"]["t"] - layout["margin"]["b"]) / (len(HARRIS.rungs) + 0.2)
    low, high = layout["xaxis"]["range"]
    crossed = 0
    for place, (value, text) in enumerate(zip(bars["x"], bars["text"], strict=True)):
        begin = value or 0.0
        said = text if value is not None else "✗ wrong"
        number = (begin, begin + 0.5 * look.font * len(said) / look.width * (high - low))
        for shape in layout["shapes"]:
            crossed += not number[0] <= shape["x0"] <= number[1] and shape["y0"] < place < shape["y1"]
            if number[0] <= shape["x0"] <= number[1]:
                nearest = min(abs(place - edge) for edge in (shape["y0"], shape["y1"]))
                assert not shape["y0"] < place < shape["y1"] and nearest * row > 0.5 * look.font
    assert all(shape["y1"] - shape["y0"] > 0.4 or shape["y0"] == -0.6 for shape in layout["shapes"]), "a dot"
    assert crossed > len(HARRIS.rungs) / 2  # a line goes on where there is no number


def test_a_peak_far_off_the_longest_bar_stands_at_the_edge_as_a_number() -> None:
    layout = metric_bars(table(), "bandwidth_gb_s", {"Peak": 48_000.0})["layout"]
    longest = max(table()["bandwidth_gb_s"].dropna())
    assert not layout.get("shapes") and layout["xaxis"]["range"][1] < 2 * longest
    assert any("48,000" in note["text"] and note["x"] == 1 for note in layout["annotations"])


def test_an_axis_of_very_different_numbers_is_logarithmic_and_says_so() -> None:
    axes = {}
    for fast in (2.0, 4000.0):
        facts = [Known(measured(rung.kernel, fast if i else 1.0)) for i, rung in enumerate(HARRIS.rungs)]
        axes[fast] = time_bars(tables.ladder_table(HARRIS, choices(), facts))["layout"]["xaxis"]
    assert axes[2.0]["type"] == "linear" and axes[2.0]["title"]["text"] == "Time (µs)"
    assert axes[4000.0]["type"] == "log" and "log scale" in axes[4000.0]["title"]["text"]
    low, high = axes[4000.0]["range"]
    assert low < 0 and high > 3.6 and len(axes[4000.0]["tickvals"]) >= 3
    assert all(low <= log10(tick) <= high for tick in axes[4000.0]["tickvals"])


def test_what_became_of_a_run_stands_behind_the_recorded_number_with_room_for_both() -> None:
    recorded = measured(HARRIS.rungs[0].kernel, 80.0, origin="recorded")
    stuck = measured(HARRIS.rungs[0].kernel, None, status="deadlock", reason="No lane goes on.")
    facts = [Known(stuck, recorded), *[Known(measured(r.kernel, 10.0)) for r in HARRIS.rungs[1:]]]
    figure = time_bars(tables.ladder_table(HARRIS, choices(), facts))
    bars = figure["data"][0]
    assert bars["x"][0] == 80.0 and "deadlock" in bars["text"][0]
    assert figure["layout"]["xaxis"]["range"][1] > 1.3 * 80.0


def test_rungs_of_different_work_have_no_speedups_and_the_plot_says_why() -> None:
    ladder = LADDERS["cs121-access"]
    facts = [Known(measured(rung.kernel, 10.0)) for rung in ladder.rungs]
    frame = tables.ladder_table(ladder, choices("cs121-access"), facts)
    assert not any("different work" in note["text"] for note in speedup_bars(frame)["layout"]["annotations"])
    frame["cumulative"] = None
    assert any("different work" in note["text"] for note in speedup_bars(frame)["layout"]["annotations"])


def test_an_empty_plot_says_what_to_do() -> None:
    for name, figure in every(table(some=False)).items():
        said = any("yet" in note["text"] for note in figure["layout"]["annotations"])
        assert said or (name == "speedup" and any(figure["data"][1]["x"]))  # the lecture's, which stand alone


def test_lines_over_n_are_labelled_at_their_ends_without_overlap() -> None:
    kernels = [rung.kernel for rung in HARRIS.rungs]
    runs = [measured(kernel, 10.0 + n / 1e5, n=n, bandwidth_gb_s=n / 1e3) for kernel in kernels for n in (1024, 4096)]
    figure = size_lines(tables.measurement_table(runs), "bandwidth_gb_s", {k: k for k in kernels})
    go.Figure(figure)
    assert len(figure["data"]) == len(set(kernels))
    heights = sorted(note["y"] for note in figure["layout"]["annotations"])
    assert min(b - a for a, b in itertools.pairwise(heights)) > 0.03


def test_lines_of_nothing_are_an_empty_figure() -> None:
    frame = tables.measurement_table([measured("reduce_strided", None, status="wrong")])
    assert size_lines(frame, "bandwidth_gb_s", {"reduce_strided": "x"})["data"] == []


def test_ticks_do_not_meet_and_end_labels_stay_in_the_picture() -> None:
    sizes = [2**14, 2**18, 2**20, 2**22, 2**24, 2**24 + 2**20, 2**26]
    kept = spread(sizes, 7, log=True)
    assert kept[0] == sizes[0] and kept[-1] == sizes[-1] and 2**24 + 2**20 not in kept
    assert min(log10(b / a) for a, b in itertools.pairwise(kept)) > log10(sizes[-1] / sizes[0]) / 8
    kernels = [rung.kernel for rung in HARRIS.rungs]
    runs = [measured(kernel, 10.0, n=n, bandwidth_gb_s=1000.0) for kernel in kernels for n in (1024, 4096)]
    figure = size_lines(tables.measurement_table(runs), "bandwidth_gb_s", {k: k for k in kernels})
    assert max(note["y"] for note in figure["layout"]["annotations"]) <= 1.0


def test_bars_have_type_that_fits_their_rows_and_scroll_where_none_does() -> None:
    """From few rungs on a large window to more than a small one holds."""
    for rows, pane in ((3, 300), (11, 282), (12, 249), (28, 249), (28, 600)):
        look = Look.of_rows(rows, pane, 480, smallest=12, largest=15)
        assert look.height is not None and 12 <= look.font <= 15
        margins = 28 + 3.5 * look.font
        assert (look.height - margins) / rows >= 1.05 * look.font, "no row meets the next"
        assert (look.pane is None) == (look.height == pane)
        assert (look.pane is None) == (rows < 20 or pane == 600)

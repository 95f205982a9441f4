"""Figures of estimates: bars of parts with a band and a mark, and estimated against recorded times."""

from __future__ import annotations

import json
from dataclasses import replace

import plotly.graph_objects as go
import pytest

from engine.catalogue import default_choice
from engine.figures.bars import held_back
from engine.figures.estimate import Mark, Point, against_figure, parts_figure
from engine.figures.look import Figure, Look
from engine.model.estimate import Estimate
from engine.model.rungs import known
from engine.plan import settle
from views.room.plot import drawing

NAMES = ("reduce_interleaved", "reduce_strided", "reduce_grid_stride_host")
ROWS = [{"rung": name, "title": name, "kernel": name, "time_us": None} for name in NAMES]


def estimates() -> list[Estimate | None]:
    return [known(settle(replace(default_choice(name), device="emulator")), "NVIDIA H200") for name in NAMES]


def drawn(hidden: int = 0) -> Figure:
    rows = [*ROWS[: len(ROWS) - hidden], *map(held_back, ROWS[len(ROWS) - hidden :])]
    marks = [Mark(40.0, "recorded"), None, Mark(35.0, "recorded")]
    return parts_figure(rows, estimates(), marks, Look(15, 300), "estimated time, µs", "Nothing.")


def test_the_parts_add_up_and_the_axis_has_room_for_band_mark_and_number() -> None:
    figure, found = drawn(), estimates()
    go.Figure(figure)
    json.dumps(figure, allow_nan=False)
    for row, one in enumerate(found[:2]):
        assert one is not None and one.time_us is not None and one.high_us is not None
        parts = [trace["x"][row] for trace in figure["data"] if trace["type"] == "bar"]
        assert sum(parts) == pytest.approx(one.time_us)
        assert figure["layout"]["xaxis"]["range"][1] > 1.2 * one.high_us
    assert [note["text"] for note in figure["layout"]["annotations"]] == ["no estimate"]
    (marks,) = (trace for trace in figure["data"] if trace["name"] == "measured")
    assert marks["x"] == [40.0, None, 35.0] and "recorded" in marks["hovertext"][0]


def test_a_row_that_is_held_back_tells_no_number() -> None:
    whole, figure = drawn(), drawn(hidden=2)
    assert [note["text"] for note in figure["layout"]["annotations"]] == ["<b>?</b>"] * 2
    for trace in figure["data"]:
        assert trace["name"] == "band" or trace["x"][1:] == [None, None]
    (band,) = (trace for trace in figure["data"] if trace["name"] == "band")
    assert len(band["x"]) == 3
    assert figure["layout"]["xaxis"]["range"] != whole["layout"]["xaxis"]["range"], "the axis's end tells no number"


def test_a_phone_shows_a_bar_of_parts_and_its_number() -> None:
    html = drawing(drawn(), 1)
    assert html.count("<dt") == 3 and html.count('class="current"') == 2
    assert html.count("µs</span>") == 2 and "no estimate" in html and html.count("<rect") > 4


def test_estimated_against_recorded_times_lie_around_a_line() -> None:
    points = [Point("reduction", 10.0, 12.0, "one"), Point("matmul", 900.0, 800.0, "two")]
    figure = against_figure(points, {"reduction": "Reduction"}, Look())
    go.Figure(figure)
    assert [trace["name"] for trace in figure["data"]] == ["Reduction", "matmul", "equal"]

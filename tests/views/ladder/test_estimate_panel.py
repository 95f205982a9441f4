"""The plot of estimated times on the ladder page."""

from __future__ import annotations

import json
from dataclasses import replace

import pytest

from engine.catalogue import LADDERS, TOPICS
from engine.model.rungs import known, size_for
from engine.service.warm_up import timed_of
from tests.views.pages import figures_of, html_of, opened


def test_every_rung_has_its_estimate_beside_the_recorded_time() -> None:
    app = opened(ladder="harris", rung="reduce_sequential", show="estimate")
    figure = json.loads(figures_of(app)[0])
    (marks,) = (trace for trace in figure["data"] if trace["name"] == "measured")
    (numbers,) = (trace for trace in figure["data"] if trace["name"] == "estimate")
    assert all(marks["x"]) and len(marks["x"]) == len(LADDERS["harris"].rungs)
    assert sum(bool(text) for text in numbers["text"]) >= 10
    assert "a model, not measured" in html_of(app) and "Starting blocks" in html_of(app)
    assert not [button for button in app.button if button.key == "estimate"], "all of them are known"


def test_a_covered_slide_tells_no_estimate_of_its_rung() -> None:
    app = opened(ladder="harris", rung="reduce_sequential", show="estimate", present="1", reveal="2")
    assert "a model, not measured" not in html_of(app)
    found = known(timed_of(LADDERS["harris"], LADDERS["harris"].rungs[2]), "NVIDIA H200")
    assert found and found.time_us and f"{found.time_us:.1f} µs" not in html_of(app) + figures_of(app)[0]


def test_a_rung_that_ends_on_the_host_has_a_reason_in_place_of_an_estimate() -> None:
    app = opened(ladder="harris", rung="reduce_grid_stride_host", show="estimate")
    assert "model does not know" in html_of(app)


def test_a_size_that_the_emulator_cannot_run_gives_way_to_the_largest_with_known_costs() -> None:
    ladder = LADDERS["cs121-tiling"]
    at = tuple(replace(timed_of(ladder, rung), n=4096) for rung in ladder.rungs)
    assert size_for(at) == TOPICS["matmul"].emulator_max_n
    assert size_for(tuple(replace(each, n=128) for each in at)) == 128


@pytest.mark.thorough
def test_an_unknown_estimate_is_made_on_the_emulator() -> None:
    app = opened(ladder="harris", n="65536", block="64", show="estimate")
    app.button(key="estimate").click().run(timeout=120)
    assert "a model, not measured" in html_of(app)

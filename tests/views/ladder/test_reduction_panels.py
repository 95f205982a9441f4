"""Steps and cost, run to run, rounding: the panels of the sums on the ladder page."""

from __future__ import annotations

import json

import pytest

from engine.figures.look import BLUE, RED
from engine.lectures.arithmetic import recorded_sums
from tests.sentences import says, wording
from tests.views.pages import figures_of, html_of, opened

FLOATS = {"ladder": "float-truths", "device": "emulator", "n": "4096"}


@pytest.mark.parametrize("rung", ["reduce_sequential", "reduce_grid_stride_atomic", "reduce_multiple_adds"])
def test_steps_and_cost_are_drawn_for_every_kind_of_rung(rung: str) -> None:
    app = opened(ladder="harris", rung=rung, show="complexity", below="complexity", n="2^16", device="emulator")
    assert len(figures_of(app)) == 1
    html = html_of(app)
    assert "log₂ N = 16 steps" in html and says("complexity.launched", html)
    strides = rung != "reduce_sequential"
    assert app.button(key="sweep elements").disabled is not strides
    assert ("1024-4096 elements per thread" in html) is strides


def test_the_emulators_counts_stand_beside_the_formula() -> None:
    app = opened(ladder="harris", rung="reduce_sequential", below="complexity", n="4096", device="emulator")
    assert "Counted by the emulator" not in html_of(app).partition(wording("complexity.launched"))[2]
    app.button(key="run").click().run()
    counted = html_of(app).partition(wording("complexity.launched"))[2]
    assert "Counted by the emulator" in counted and 'class="status ok">1,056<' in counted


def test_the_sweep_runs_every_grid() -> None:
    app = opened(ladder="harris", rung="reduce_warp_shuffle", show="complexity", n="1024", device="emulator")
    app.button(key="sweep elements").click().run()
    assert not app.exception and "choose a larger N" in html_of(app)


def test_a_refused_choice_leaves_the_panel_alive() -> None:
    for show in ("complexity", "rounding", "repeats"):
        app = opened(ladder="harris", rung="reduce_warp_shuffle", show=show, n="0", dtype="float32")
        assert not app.exception
    assert not opened(ladder="harris", below="floats", n="0", dtype="float32").exception


def test_a_float_sum_is_repeated_in_other_orders() -> None:
    app = opened(**FLOATS, rung="floats_atomic", show="repeats")
    assert "Not repeated yet" in figures_of(app)[0]
    app.button(key="repeat").click().run()
    assert "40 runs," in html_of(app) and "different answers" in html_of(app)
    drawn = json.loads(figures_of(app)[0])["data"][0]
    assert len(drawn["x"]) > 1 and sum(drawn["y"]) == 40


def test_integers_have_nothing_to_round() -> None:
    app = opened(ladder="harris", show="repeats", n="1000")
    assert "Run to run" not in str(app.get("button_group")) and not app.exception


def test_without_a_run_here_the_recorded_answers_stand_there() -> None:
    app = opened(**FLOATS | {"n": "1024"}, rung="floats_tree", below="floats", show="rounding")
    html = html_of(app)
    assert wording("floats.not-run") not in html and html.count("NVIDIA H200, recorded") >= 3


def test_every_rungs_error_stands_beside_its_worst_case(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(recorded_sums, "answer", lambda choice: None)
    app = opened(**FLOATS, rung="floats_tree", below="floats", show="rounding", parameter="0")
    assert html_of(app).count(wording("floats.not-run")) == 5
    app.button(key="run").click().run()
    html = html_of(app)
    assert html.count(wording("floats.not-run")) == 4 and "⌈log₂ n⌉ u Σ|x|" in html
    assert [trace["name"] for trace in json.loads(figures_of(app)[0])["data"]][2:] == ["tree"]


def test_the_numbers_are_chosen_by_name() -> None:
    app = opened(**FLOATS, rung="floats_tree")
    assert app.selectbox(key="parameter").options == ["ones", "random"]


def test_float_truths_open_on_the_sum_of_the_ones() -> None:
    figure = json.loads(figures_of(opened(ladder="float-truths"))[0])
    bars = figure["data"][0]
    assert bars["text"] == ["16,777,216", "16,777,216", "17,825,792", "17,825,792", "17,825,792"]
    assert bars["marker"]["color"] == [RED, RED, BLUE, BLUE, BLUE] and set(bars["marker"]["pattern"]["shape"]) == {"/"}
    assert "<b>exact</b> 17,825,792" in str(figure["layout"]["annotations"])

"""The pictures of the trapezoidal rule on the ladder page."""

from __future__ import annotations

import json

from tests.views.pages import asked, figures_of, html_of, opened

HERE = {"ladder": "cooper", "device": "emulator"}


def test_the_slider_changes_the_picture_and_stands_in_the_address() -> None:
    app = opened(**HERE, show="trapezoids", partitions="4")
    assert "4 trapezoids" in figures_of(app)[0]
    app.select_slider(key="partitions").set_value("1024").run()
    assert not app.exception and asked(app)["partitions"] == "1024"
    assert "1,024 trapezoids" in figures_of(app)[0]
    assert "15 trapezoids" in figures_of(opened(**HERE, show="trapezoids", partitions="many"))[0]


def test_the_lectures_example_is_one_click_away() -> None:
    app = opened(**HERE, show="trapezoids", rung="trapezoid_global_race")
    assert "block 1" not in figures_of(app)[0]
    app.button(key="eight wide").click().run()
    assert (asked(app)["n"], asked(app)["block"], asked(app)["partitions"]) == ("16", "8", "15")
    assert "block 1" in figures_of(app)[0] and ": 8 threads" in figures_of(app)[0]
    said = " ".join(entry.value for entry in app.caption)
    assert "22 instead of 41" in said
    app.button(key="run").click().run()
    assert "-1.2087" in said and "-1.2087" in html_of(app), "what the emulator finds is what the page foretells"


def test_a_run_says_both_of_its_errors() -> None:
    app = opened(**HERE, rung="trapezoid_sequential", n="1000")
    app.button(key="run").click().run()
    assert "allowed" in html_of(app) and "off the integral by" in html_of(app)


def test_errors_over_n_come_from_runs() -> None:
    app = opened(**HERE, rung="trapezoid_shared_host", n="256", show="errors")
    before = json.loads(figures_of(app)[0])
    assert len(before["data"]) == 2, "nothing has run: only what is computed"
    app.button(key="run").click().run()
    after = json.loads(figures_of(app)[0])
    assert [trace["name"] for trace in after["data"][2:]] == ["shared memory: off the integral", "shared memory"]

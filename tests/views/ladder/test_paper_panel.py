"""The section and the picture that set the lecture's figures beside ours."""

from __future__ import annotations

import pytest

from engine.catalogue import LADDERS
from engine.lectures import published
from tests.sentences import says
from tests.views.pages import figures_of, html_of, opened


def text_of(name: str, **address: str) -> str:
    return html_of(opened(ladder=name, below="paper", **address)).partition('<section class="papers">')[2]


@pytest.mark.sampled(quick=3)
@pytest.mark.parametrize("name", published.published_ladders())
def test_every_figure_stands_in_the_table(name: str) -> None:
    html = text_of(name)
    assert html.count("<tr>") >= 3 and says("published.why-shape-differs", html)
    for rung in LADDERS[name].rungs:
        for figure in rung.published:
            if figure.bandwidth_gb_s:
                assert f"{figure.bandwidth_gb_s:.3g}" in html or f"{figure.bandwidth_gb_s:.1f}" in html


def test_a_ladder_without_figures_has_its_paragraph_and_no_table() -> None:
    html = text_of("cs121-banks")
    assert "What is different today" in html and "<table" not in html
    app = opened(ladder="cs121-banks", below="paper")
    assert not [button for button in app.button if button.key == "run_paper"]


def test_the_race_is_called_wrong_and_has_no_time() -> None:
    row = text_of("cooper").partition("global race")[2].partition("</tr>")[0]
    assert "90.0 ms" in row and ">wrong<" in row


def test_the_picture_is_offered_where_figures_are() -> None:
    assert "In the lecture" in figures_of(opened(ladder="harris", show="paper"))[0]
    assert "Threads per block" in figures_of(opened(ladder="heidelberg", show="paper"))[0]
    app = opened(ladder="cs121-banks", show="paper")
    assert app.session_state["plot"] == "law"  # the ladder's own, where what was asked for is not offered


def test_run_these_runs_under_the_lectures_conditions(monkeypatch: pytest.MonkeyPatch) -> None:
    asked = []
    monkeypatch.setattr("views.shared.work.start", lambda name, choices, names: asked.extend(choices))
    app = opened(ladder="harris", n="1000", below="paper")
    app.button(key="run_paper").click().run()
    assert [choice.n for choice in asked] == [2**22] * 7 + [2**25] and not app.exception


def test_the_first_ladder_run_here_is_checked_in_the_table() -> None:
    app = opened(ladder="cooper", below="paper", rung="trapezoid_sequential")
    app.button(key="run").click().run()
    assert "✓ correct, emulated" in html_of(app).partition('<section class="papers">')[2]

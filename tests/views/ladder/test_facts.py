"""What one browser was shown is not computed again for the next, until something that it shows was measured anew."""

from __future__ import annotations

from collections import Counter
from collections.abc import Callable
from typing import Any

import pytest

from engine import tables
from engine.catalogue import LADDERS
from engine.choices import settle
from engine.figures import ladder as figures
from engine.history import history
from engine.lectures import conditions
from engine.lectures import paper as figures_of_lectures
from engine.records import Choice
from tests.made import measured
from tests.views.pages import figures_of, html_of, opened
from views.html import table
from views.ladder import view
from views.ladder.panels import paper, plot

HERE = {"ladder": "harris", "n": "2048", "rung": "reduce_strided"}


@pytest.fixture
def made(monkeypatch: pytest.MonkeyPatch) -> Counter[str]:
    """How often each costly part of the page was made."""
    counts: Counter[str] = Counter()

    def counted(name: str, function: Callable[..., Any]) -> Callable[..., Any]:
        def call(*args: Any, **keywords: Any) -> Any:
            counts[name] += 1
            return function(*args, **keywords)

        return call

    monkeypatch.setattr(tables, "ladder_table", counted("table", tables.ladder_table))
    monkeypatch.setattr(table, "ladder_html", counted("html", table.ladder_html))
    monkeypatch.setattr(plot, "time_bars", counted("figure", figures.time_bars))
    monkeypatch.setattr(plot, "metric_bars", counted("figure", figures.metric_bars))
    monkeypatch.setattr(plot, "Validated", counted("validated", plot.Validated))
    for cached in (view._made, plot.timed_bars, plot.validated):
        cached.cache_clear()
    return counts


def test_a_second_browser_is_shown_what_was_made_for_the_first(made: Counter[str]) -> None:
    first = opened(**HERE)
    assert made == {"table": 1, "html": 1, "figure": 1, "validated": 1}
    second = opened(**HERE)
    assert made == {"table": 1, "html": 1, "figure": 1, "validated": 1}
    assert (html_of(second), figures_of(second)) == (html_of(first), figures_of(first))
    second.button("next").click().run()  # in the table another rung is marked; the figure is the same on every rung
    assert made == {"table": 1, "html": 2, "figure": 1, "validated": 1}
    assert figures_of(second) == figures_of(first)
    second.button("previous").click().run()
    assert made == {"table": 1, "html": 2, "figure": 1, "validated": 1}


def test_browsers_at_one_rung_look_at_one_page(monkeypatch: pytest.MonkeyPatch) -> None:
    made: list[str] = []
    lines = figures_of_lectures.lines
    monkeypatch.setattr(view, "settle", lambda choice: (made.append("choice"), settle(choice))[1])
    monkeypatch.setattr(figures_of_lectures, "lines", lambda *of: (made.append("lecture"), lines(*of))[1])
    view.page_of.cache_clear()
    paper._drawn.cache_clear()
    opened(**HERE)
    assert Counter(made) == {"choice": len(LADDERS["harris"].rungs), "lecture": 1}
    opened(**HERE)
    assert len(made) == len(LADDERS["harris"].rungs) + 1
    asked = conditions.choices(LADDERS["harris"], "emulator")[0][0]
    history.remember(asked, measured(asked, device={"kind": "emulator"}, time_us=None))
    assert "✓" in html_of(opened(**HERE)).partition('class="papers"')[2]
    assert made[-1] == "lecture" and len(made) == len(LADDERS["harris"].rungs) + 2


def test_what_was_run_meanwhile_is_shown(made: Counter[str]) -> None:
    choice = settle(Choice("reduce_strided", 2048, 128, dtype="int32", device="emulator"))
    for times, reason in enumerate(("It is 3.", "It is 4."), 1):
        history.remember(choice, measured(choice, device={"kind": "emulator"}, status="wrong", reason=reason))
        assert reason in html_of(opened(**HERE)) and made["table"] == times

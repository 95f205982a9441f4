"""What one browser was shown is not computed again for the next, until something that it shows was measured anew."""

from __future__ import annotations

from collections import Counter
from typing import Any

import pytest

from engine.catalogue import LADDERS
from engine.history import history, tables
from engine.lectures import conditions
from engine.lectures import paper as figures_of_lectures
from engine.plan import settle
from engine.records import Choice
from tests.made import measured
from tests.views.pages import figures_of, html_of, opened
from views.ladder import resolve, view
from views.ladder.panels import paper

HERE = {"ladder": "harris", "n": "2048", "rung": "reduce_strided"}


@pytest.fixture
def made(monkeypatch: pytest.MonkeyPatch) -> Counter[str]:
    """How often the table of the ladder was made."""
    counts: Counter[str] = Counter()
    ladder_table = tables.ladder_table

    def counted(*args: Any) -> Any:
        counts["table"] += 1
        return ladder_table(*args)

    monkeypatch.setattr(tables, "ladder_table", counted)
    view._facts.cache_clear()
    return counts


def test_a_second_browser_is_shown_what_was_made_for_the_first(made: Counter[str]) -> None:
    first = opened(**HERE)
    second = opened(**HERE)
    assert (html_of(second), figures_of(second)) == (html_of(first), figures_of(first))
    assert html_of(first).count('<tr class="current">') == 1
    second.button("next").click().run()  # in the table another rung is marked; the figure is the same on every rung
    assert figures_of(second) == figures_of(first) and html_of(second) != html_of(first)
    assert made["table"] == 1


def test_browsers_at_one_rung_look_at_one_page(monkeypatch: pytest.MonkeyPatch) -> None:
    made: list[str] = []
    lines = figures_of_lectures.lines
    monkeypatch.setattr(resolve, "settle", lambda choice: (made.append("choice"), settle(choice))[1])
    monkeypatch.setattr(figures_of_lectures, "lines", lambda *of: (made.append("lecture"), lines(*of))[1])
    resolve.page_of.cache_clear()
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

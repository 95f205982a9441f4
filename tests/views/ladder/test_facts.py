"""What one browser was shown is not computed again for the next, until something that it shows was measured anew."""

from __future__ import annotations

import sys
from collections import Counter
from concurrent.futures import ThreadPoolExecutor
from typing import Any

import pytest

from engine.catalogue import LADDERS
from engine.history import history, tables
from engine.lectures import published
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
    view._rows.cache_clear()
    return counts


def test_a_second_browser_gets_the_page_made_for_the_first(made: Counter[str]) -> None:
    first = opened(**HERE)
    second = opened(**HERE)
    assert (html_of(second), figures_of(second)) == (html_of(first), figures_of(first))
    assert html_of(first).count('<tr class="current">') == 1
    second.button("next").click().run()  # in the table another rung is marked; the figure is the same on every rung
    assert figures_of(second) == figures_of(first) and html_of(second) != html_of(first)
    assert made["table"] == 1


def test_browsers_at_one_rung_look_at_one_page(monkeypatch: pytest.MonkeyPatch) -> None:
    made: list[str] = []
    lines = published.lines
    monkeypatch.setattr(resolve, "settle", lambda choice: (made.append("choice"), settle(choice))[1])
    monkeypatch.setattr(published, "lines", lambda *of: (made.append("lecture"), lines(*of))[1])
    resolve.page_of.cache_clear()
    paper._drawn.cache_clear()
    opened(**HERE)
    assert Counter(made) == {"choice": len(LADDERS["harris"].rungs), "lecture": 1}
    opened(**HERE)
    assert len(made) == len(LADDERS["harris"].rungs) + 1
    asked = published.choices(LADDERS["harris"], "emulator")[0][0]
    history.remember(asked, measured(asked, device={"kind": "emulator"}, time_us=None))
    assert "✓" in html_of(opened(**HERE)).partition('class="papers"')[2]
    assert made[-1] == "lecture" and len(made) == len(LADDERS["harris"].rungs) + 2


def test_a_later_measurement_is_shown(made: Counter[str]) -> None:
    choice = settle(Choice("reduce_strided", 2048, 128, dtype="int32", device="emulator"))
    for times, reason in enumerate(("It is 3.", "It is 4."), 1):
        history.remember(choice, measured(choice, device={"kind": "emulator"}, status="wrong", reason=reason))
        assert reason in html_of(opened(**HERE)) and made["table"] == times
    assert made["table"] == 2


def test_threads_share_a_full_cache(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(view, "KEPT", 2)
    made = view.shared(lambda known, number: number)
    interval = sys.getswitchinterval()
    sys.setswitchinterval(1e-6)  # so that threads meet between any two steps
    try:
        with ThreadPoolExecutor(8) as threads:
            found = list(threads.map(lambda first: [made([], (first + n) % 7) for n in range(4000)], range(8)))
    finally:
        sys.setswitchinterval(interval)
    assert found == [[(first + n) % 7 for n in range(4000)] for first in range(8)]

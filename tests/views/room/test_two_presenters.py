"""Two pages present at once: the last one to step leads, and a question that its step ends is said to have ended."""

from __future__ import annotations

from collections.abc import Iterator

import pytest
from streamlit.testing.v1 import AppTest

from tests.views.access.asked import asked as answered
from tests.views.conftest import PRESS
from tests.views.pages import html_of, opened
from tests.views.room.test_handout import HALL, no_lecture_yet  # noqa: F401
from tests.views.room.test_votes import APP
from views.room import question, tickets, votes
from views.shared import presence, presentation


@pytest.fixture
def first(press: PRESS, monkeypatch: pytest.MonkeyPatch, no_lecture_yet: Iterator[None]) -> AppTest:  # noqa: F811
    """A page that presents, with an open question; both pages stay connected."""
    monkeypatch.setattr(presence, "is_here", bool)
    page = press(opened(**HALL), "question")
    assert votes.now() is not None and '<b class="votes"' in html_of(page)
    return page


def said(page: AppTest) -> list[str]:
    return [sentence for sentence in (question.ENDED, question.ENDING) if sentence in html_of(page)]


@pytest.mark.parametrize("key", ["question", "next", "room"])
def test_the_first_page_says_that_its_question_has_ended(first: AppTest, key: str, press: PRESS) -> None:
    other = opened(**{**HALL, "rung": "reduce_sequential"})
    assert said(other) == said(other.run()) == [question.ENDING], "a browser may run the script twice"
    assert votes.now() is None
    assert said(press(first, key)) == said(first.run()) == [question.ENDED] and votes.now() is None
    assert said(press(first, "next")) == [] == said(press(press(other, "question"), "question"))


def test_a_page_alone_says_nothing_of_the_kind(first: AppTest, press: PRESS) -> None:
    for key in ("question", "question", "next", "question", "next", "question", "leave", "present", "previous"):
        assert said(press(first, key)) == []


def test_only_the_page_that_leads_ends_the_lecture(
    first: AppTest, press: PRESS, monkeypatch: pytest.MonkeyPatch
) -> None:
    other = press(opened(**{**HALL, "rung": "reduce_sequential"}), "question")
    press(first, "leave")
    found = presentation.now()
    assert found is not None and found.going and votes.now() is not None
    press(other, "leave")
    assert not tickets.lecture()


def test_the_slide_that_nobody_touches_says_it_in_the_place_of_the_votes(first: AppTest) -> None:
    asked = votes.now()
    assert asked is not None

    def told() -> str:
        query = f"t={tickets.ticket(tickets.lecture())}&question={asked['name']}"
        return str(answered(APP, "/f/votes", query=query).body)

    assert f'data-question="{asked["name"]}"' in html_of(first) and told() == "0"
    opened(**{**HALL, "rung": "reduce_sequential"})
    assert votes.ELSEWHERE in told()

"""What the presenter's slide hands to the room: all that it shows, and no number that it holds back."""

from __future__ import annotations

import json
import re
from collections.abc import Iterator
from typing import Any

import pytest
from streamlit.testing.v1 import AppTest

from engine.catalogue import KERNELS, LADDERS
from tests.views.access.test_roles import come_as
from tests.views.conftest import PRESS
from tests.views.pages import html_of, opened
from views.access.policy import PRESENTER, STUDENT
from views.room import feed, tickets
from views.room.feed import Feed
from views.shared import presentation

HALL = {"ladder": "harris", "rung": "reduce_strided", "present": "1"}


@pytest.fixture(autouse=True)
def no_lecture_yet(monkeypatch: pytest.MonkeyPatch) -> Iterator[None]:
    monkeypatch.setattr(presentation, "_found", None)
    monkeypatch.setattr(presentation, "FRESH_S", 0.0)
    monkeypatch.setattr(feed, "FEED", Feed())
    yield


def slide() -> dict[str, Any]:
    return dict(feed.state()["slide"])


def bars(plot: str) -> list[str]:
    """The numbers behind the bars."""
    return re.findall(r"</svg><span>([^<]*)</span>", plot)


def test_a_slide_is_handed_out_and_its_numbers_only_once_they_are_shown(press: PRESS) -> None:
    app = opened(**HALL)
    state, covered = feed.state(), slide()
    rung = LADDERS["harris"].rungs[1]
    assert (state["phase"], state["lecture"]) == ("during", tickets.lecture())
    assert (covered["label"], covered["title"]) == (rung.label, KERNELS[rung.kernel].title) and covered["covered"]
    assert 'class="line changed"' in covered["code"]
    press(app, "next")
    shown = slide()
    assert shown["code"] == covered["code"] and not shown["covered"] and feed.state()["number"] > state["number"]
    numbers = [text for text in re.findall(r"<strong>([\d.]+)", shown["numbers"]) if len(text) > 2]
    hidden = json.dumps({**covered, "code": "", "where": "", "address": ""}, ensure_ascii=False)
    assert numbers and not [text for text in numbers if text in hidden]
    assert bars(shown["plot"])[-1] not in hidden
    assert bars(covered["plot"]) == bars(shown["plot"])[::2], "of each pair the rung before"


def test_the_bars_of_all_rungs_come_in_their_order_with_the_one_on_the_slide_marked(press: PRESS) -> None:
    press(opened(**HALL, show="rate"), "reveal")
    plot = slide()["plot"]
    assert len(bars(plot)) == len(LADDERS["harris"].rungs) and plot.count('<dt class="current">') == 1
    shares = [float(share) for share in re.findall(r'width="([\d.]+)%"', plot)]
    values = [float(text.replace(",", "")) for text in bars(plot)]
    assert all(abs(share / shares[0] - value / values[0]) < 0.1 for share, value in zip(shares, values, strict=True))
    assert "style=" not in json.dumps(slide()), "the page's policy forbids styles in elements"


def test_only_a_presenter_hands_out_and_the_end_leaves_the_place(press: PRESS, monkeypatch: pytest.MonkeyPatch) -> None:
    come_as(STUDENT, "aaaa1111", monkeypatch)
    opened(**HALL)
    assert feed.state()["phase"] == "before"
    come_as(PRESENTER, "bbbb2222", monkeypatch)
    app = opened(**HALL)
    press(app, "leave")
    state = feed.state()
    assert (state["phase"], state["slide"], state["ended"]["label"]) == ("after", None, "#2")
    assert "rung=reduce_strided" in state["ended"]["address"]


def card(app: AppTest) -> str:
    return html_of(app).partition('class="roomcard"')[2]


def test_g_opens_the_card_and_g_esc_or_a_step_close_it(press: PRESS, monkeypatch: pytest.MonkeyPatch) -> None:
    app = opened(**HALL)
    assert not card(app)
    press(app, "room")
    code = tickets.code(tickets.lecture())
    assert f"{code[:3]} {code[3:]}" in card(app) and "data:image/svg+xml" in card(app) and "/f</p>" in card(app)
    for close in ("room", "leave", "next"):
        press(app, close)
        assert not card(app) and "presenting" in html_of(app)
        press(app, "room")
        assert card(app)
    come_as(STUDENT, "aaaa1111", monkeypatch)
    assert not card(press(app, "room"))

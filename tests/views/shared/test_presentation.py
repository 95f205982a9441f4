"""The lecture: kept while somebody presents, followed by whoever wants to, and there again after a restart."""

from __future__ import annotations

import asyncio
import html
import json
import re
import time
from collections.abc import Callable
from typing import Any
from urllib.parse import parse_qsl

import pytest
from starlette.requests import Request

from engine.catalogue import LADDERS
from engine.history import history
from engine.plan import settle
from engine.records import Choice
from engine.store import database
from engine.store import presentation as store
from tests.made import ENVIRONMENT, measured
from tests.views.access.test_roles import come_as
from tests.views.pages import asked, html_of, opened
from views.access.policy import PRESENTER, STUDENT
from views.room.feed import Feed
from views.server import endpoints
from views.server.endpoints import ROUTES
from views.shared import address, presence, presentation, work
from views.shared.presentation import Presentation

SLIDE = {"ladder": "harris", "rung": "reduce_strided", "n": "4096", "block": "256", "device": "emulator"}


@pytest.fixture(autouse=True)
def no_lecture_yet(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(presentation, "_found", None)
    monkeypatch.setattr(presentation, "FRESH_S", 0.0)


def told(query: str = "", after: Callable[[], None] = lambda: None) -> dict[str, Any]:
    """What the server answers to a page that follows; `after`: is called when the page has asked."""
    endpoint = next(route.endpoint for route in ROUTES if route.path == "/lecture")

    async def answered() -> bytes:
        asked = asyncio.create_task(endpoint(Request({"type": "http", "query_string": query.encode()})))
        await asyncio.sleep(0)
        after()
        return (await asked).body

    return json.loads(asyncio.run(answered()))


def going() -> Presentation:
    found = presentation.now()
    assert found is not None and found.going
    return found


def test_only_the_presenters_steps_and_results_are_followed(monkeypatch: pytest.MonkeyPatch) -> None:
    come_as(STUDENT, "aaaa1111", monkeypatch)
    opened(**SLIDE, present="1")
    assert presentation.now() is None and told() == {}
    come_as(PRESENTER, "bbbb2222", monkeypatch)
    app = opened(**SLIDE, present="1", reveal="all")
    first = going()
    assert first.choices.items() >= SLIDE.items() and "present" not in first.choices
    assert told() == {"number": first.number, "address": first.address, "lecture": 0, "moment": 0, "slot": None}
    app.run()
    assert going() == first
    app.button(key="next").click().run()
    second = going()
    assert second.number != first.number and second.choices["rung"] == LADDERS["harris"].rungs[2].kernel
    ran = settle(Choice(second.choices["rung"], 4096, 256, device="emulator"))
    history.remember(ran, measured(ran, device={"kind": "emulator"}, time_us=None))
    app.run()
    assert going().number != second.number and going().seen == ENVIRONMENT["utc"]
    presentation.end()
    assert told() == {} and presentation.now() is not None


def test_a_page_that_has_seen_where_the_lecture_is_gets_its_answer_when_it_goes_on(
    monkeypatch: pytest.MonkeyPatch,
) -> None:
    monkeypatch.setattr(endpoints, "LOOK_S", 0.01)
    monkeypatch.setattr(presence, "browsers", lambda: 1)
    presentation.show(SLIDE, "")
    first = going()
    assert told("seen=0")["number"] == first.number
    steps: list[int] = []

    def step() -> None:
        time.sleep(0.002)  # a number is of a millisecond
        presentation.show({**SLIDE, "rung": "reduce_sequential"}, "")
        steps.append(going().number)

    assert told(f"seen={first.number}", step)["number"] == steps[0] != first.number
    assert told(f"seen={steps[0]}", presentation.end) == {}
    monkeypatch.setattr(presence, "browsers", lambda: 0)
    assert told("seen=0") == {}, "nobody presents, and when no page is there any more nobody waits"


def test_a_page_that_does_not_follow_learns_only_of_begin_and_end(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(endpoints, "LOOK_S", 0.01)
    monkeypatch.setattr(presence, "browsers", lambda: 1)
    monkeypatch.setattr(presence, "is_here", lambda name: True)
    assert told("lecture=0", lambda: presentation.show(SLIDE, ""))["lecture"] == going().lecture
    began = going().lecture
    monkeypatch.setattr(endpoints, "WAIT_S", 0.1)
    later = told(f"lecture={began}", lambda: presentation.show({**SLIDE, "rung": "reduce_sequential"}, ""))
    assert later["lecture"] == began, "the step did not end the wait, but its limit"
    assert told(f"lecture={began}", presentation.end) == {}
    presentation.show(SLIDE, "")
    assert going().lecture == began, "the same lecture goes on after a short pause"
    monkeypatch.setattr(presence, "is_here", lambda name: False)
    assert told()["lecture"] == 0, "the presenter has closed the tab"


def test_a_page_with_a_block_in_motion_follows_its_moment(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(endpoints, "FEED", Feed())
    presentation.show(SLIDE, "")
    seen = f"seen={going().number}"
    moved = told(f"{seen}&moment=0", lambda: endpoints.FEED.publish("moment", {"slot": 3.5}))
    assert moved["slot"] == 3.5 and moved["moment"] > 0 and moved["number"] == going().number
    assert told(f"{seen}&moment=0") == moved, "one that comes later need not wait"


def test_a_follower_is_answered_without_a_thread(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(presentation, "FRESH_S", 60.0)
    presentation.show(SLIDE, "")
    monkeypatch.setattr(asyncio, "to_thread", None)
    assert told()["number"] == going().number


@pytest.mark.thorough
def test_following_pages_take_turns_and_a_waiting_page_blocks_none(
    monkeypatch: pytest.MonkeyPatch,
) -> None:
    turns: list[str] = []

    class Turn:
        def __enter__(self) -> None:
            turns.append("taken")

        def __exit__(self, *_: object) -> None:
            turns.append("over")

    monkeypatch.setattr(presentation, "TURN", Turn())
    presentation.show(SLIDE, "")
    opened(**SLIDE)
    assert not turns
    app = opened(**SLIDE, follow="1")
    assert turns == ["taken", "over"]
    app.run()
    assert turns[2:] == ["taken", "taken", "over", "over"], "from its beginning, now that it is known to follow"
    monkeypatch.setattr(work, "busy", lambda _: True)
    turns.clear()
    app.run()
    opened(**SLIDE, follow="1")
    assert not turns
    monkeypatch.undo()
    monkeypatch.setattr(presentation, "TURN", Turn())
    restore = address.restore
    monkeypatch.setattr(address, "restore", lambda page: (turns.append(f"restored {page}"), restore(page)))
    app.switch_page("views/machine/page.py").run()
    assert turns == ["taken", "over", "restored machine"], "no other page follows"


def test_a_student_follows_and_stops(monkeypatch: pytest.MonkeyPatch) -> None:
    presentation.show(SLIDE, "")
    come_as(STUDENT, "aaaa1111", monkeypatch)
    app = opened(ladder="crovella")
    assert 'class="follows"' not in html_of(app)
    app.button(key="follow_on").click().run()
    assert asked(app).items() >= {**SLIDE, "follow": "1"}.items()
    assert f'<i class="follows" data-number="{going().number}"></i>' in html_of(app)
    assert app.button(key="run").proto.type == "secondary", "the lecturer runs"
    assert "as in the lecture" in html_of(app) and not [menu for menu in app.selectbox if menu.key == "block"]
    app.button(key="follow_off").click().run()
    assert asked(app)["rung"] == SLIDE["rung"] and "follow" not in asked(app)
    assert app.selectbox(key="block").value == SLIDE["block"] and app.selectbox(key="n").value == SLIDE["n"]
    assert 'class="follows"' not in html_of(app)


def test_a_page_that_was_asked_for_an_earlier_place_follows_to_the_lectures(monkeypatch: pytest.MonkeyPatch) -> None:
    come_as(STUDENT, "aaaa1111", monkeypatch)
    presentation.show({**SLIDE, "rung": "reduce_sequential"}, "")
    app = opened(**SLIDE, follow="1")
    assert '<i class="follows" data-number="0"></i>' in html_of(app)


def test_after_a_restart_the_presenter_goes_on_where_the_lecture_was(monkeypatch: pytest.MonkeyPatch) -> None:
    come_as(PRESENTER, "bbbb2222", monkeypatch)
    opened(**SLIDE, present="1")
    database.close()
    history.forget()
    monkeypatch.setattr(presentation, "_found", None)
    link = html.unescape(re.search(r'href="\./\?([^"]+)"', html_of(opened("machine")))[1])  # type: ignore[index]
    assert dict(parse_qsl(link)).items() >= {**SLIDE, "present": "1"}.items()


def test_a_lecture_of_yesterday_or_of_another_version_is_none(monkeypatch: pytest.MonkeyPatch) -> None:
    presentation.show(SLIDE, "")
    kept = store.load(presentation.NAME) or {}
    store.save(presentation.NAME, {**kept, "utc": "2026-11-01T10:00:00+00:00"})
    assert presentation.now() is None
    store.save(presentation.NAME, {"slide": 3})
    assert presentation.now() is None and told() == {}

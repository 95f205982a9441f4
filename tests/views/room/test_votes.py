"""Votes: one a browser, changeable and unreadable until the question is closed, and all of them counted."""

from __future__ import annotations

import asyncio
import csv
import json
from collections.abc import Iterator
from pathlib import Path

import pytest
from starlette.routing import Router

from engine.lectures.questions import Question
from engine.store import votes as store
from tests.views.access.asked import Answer, behind
from tests.views.access.asked import asked as answered
from tests.views.room.test_tickets import FAR, cookie_of, school  # noqa: F401
from views.access.gate import Gate
from views.access.headers import Headers
from views.room import feed, phone, tickets, votes
from views.server.endpoints import ROUTES

NAME, QUESTION = "harris~reduce_strided", Question("How much faster?", ("less", "the same", "more"), 2, "1.45×.")
JSON = {"method": "POST", "content_type": "application/json"}
APP = Headers(Gate(Router([*phone.ROUTES, *votes.ROUTES], default=behind)))


@pytest.fixture(autouse=True)
def lecture(monkeypatch: pytest.MonkeyPatch, tmp_path: Path, request: pytest.FixtureRequest) -> Iterator[str]:
    monkeypatch.setenv("XDG_DATA_HOME", str(tmp_path))
    request.getfixturevalue("school")
    monkeypatch.setattr(votes, "TELL_S", 0.0)
    yield tickets.lecture()


def room(path: str, **more: object) -> Answer:
    return answered(APP, path, **{**FAR, **more})  # type: ignore[arg-type]


def guest() -> str:
    return cookie_of(room("/f", query=f"t={tickets.ticket(tickets.lecture())}"))


def cast(cookie: str, choice: int, round: int = 1, name: str = NAME) -> Answer:
    body = json.dumps({"name": name, "round": round, "choice": choice}).encode()
    return room("/f/vote", body=body, cookie=cookie, **JSON)


def asked() -> dict[str, object]:
    found = votes.now()
    assert found is not None
    return found


def test_a_browser_has_one_vote_that_it_may_change_until_the_question_is_closed(lecture: str) -> None:
    one, other = guest(), guest()
    votes.ask(lecture, NAME, QUESTION)
    assert [cast(one, 0).status, cast(one, 2).status, cast(other, 1).status] == [204, 204, 204]
    assert [cast(one, 3).status, cast(one, 0, round=2).status, cast("", 0).status] == [400, 409, 403]
    votes.close(lecture)
    assert cast(one, 0).status == 409 and asked()["counts"] == [[0, 1, 1]] and asked()["right"] is None
    votes.answer(QUESTION)
    assert (asked()["right"], asked()["because"]) == (2, "1.45×.")


def test_nothing_tells_the_votes_of_an_open_round(lecture: str) -> None:
    votes.ask(lecture, NAME, QUESTION)
    for choice in (2, 2, 1):
        cast(guest(), choice)
    votes._tell(lecture)
    told = asked()
    assert (told["votes"], told["counts"], told["right"], told["because"]) == (3, [], None, None)
    assert str(QUESTION.because) not in feed.FEED.event(-1)[1].decode()
    assert room("/f/votes", query=f"t={tickets.ticket(lecture)}").body == "3" and room("/f/votes").status == 403


def test_a_second_round_stands_beside_the_first(lecture: str) -> None:
    browsers = [guest() for _ in range(3)]
    votes.ask(lecture, NAME, QUESTION)
    for cookie in browsers:
        cast(cookie, 0)
    votes.close(lecture)
    votes.ask(lecture, NAME, QUESTION)
    assert cast(browsers[0], 2, round=1).status == 409
    for cookie in browsers:
        cast(cookie, 2, round=2)
    votes.close(lecture)
    assert asked()["counts"] == [[3, 0, 0], [0, 0, 3]]
    (kept,) = store.all_asked(lecture)
    assert kept.rounds == ((3, 0, 0), (0, 0, 3)) and kept.record["right"] == 2
    votes.withdraw()
    assert votes.now() is None and store.all_asked(lecture) == [kept]
    rows = list(csv.DictReader(store.csv_of([kept]).splitlines()))
    assert [(row["Round"], row["Answer"], row["Right"], row["Votes"]) for row in rows][::3] == [
        ("1", "less", "no", "3"), ("2", "less", "no", "0")
    ]  # fmt: skip


def test_hands_count_as_many_votes(lecture: str) -> None:
    votes.ask(lecture, NAME, QUESTION)
    votes.count_hands(lecture, [12, 30, 5])
    assert asked()["votes"] == 47
    for wrong in ([1, 2], [0, 0, 0], [1, -1, 3], [10**6, 0, 0]):
        with pytest.raises(ValueError):
            votes.count_hands(lecture, wrong)
    votes.close(lecture)
    assert asked()["counts"] == [[12, 30, 5]]
    with pytest.raises(ValueError):
        votes.count_hands(lecture, [1, 1, 1])


def test_two_hundred_votes_at_once_are_all_counted(lecture: str) -> None:
    names = [f"browser {i}" for i in range(200)]
    votes.ask(lecture, NAME, QUESTION)

    async def all_at_once() -> None:
        every = (asyncio.to_thread(store.cast, lecture, NAME, 1, {name: i % 3}) for i, name in enumerate(names))
        await asyncio.gather(*every)

    asyncio.run(all_at_once())
    votes.close(lecture)
    assert asked()["counts"] == [[67, 67, 66]]


def test_the_votes_routes_are_served() -> None:
    assert {route.path for route in votes.ROUTES} <= {route.path for route in ROUTES}

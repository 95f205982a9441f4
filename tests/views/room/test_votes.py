"""Votes: one a browser, changeable and unreadable until the question is closed, and all of them counted."""

from __future__ import annotations

import asyncio
import csv
import json
from collections.abc import Iterator
from dataclasses import replace
from pathlib import Path

import pytest
from starlette.routing import Router

from engine.lectures.questions import Question
from engine.store import votes as store
from tests.views.access.asked import Answer, answer, behind
from tests.views.access.asked import asked as answered
from tests.views.room.test_tickets import FAR, cookie_of, school  # noqa: F401
from views.access.gate import Gate
from views.access.headers import Headers
from views.room import feed, phone, tickets, votes
from views.server.endpoints import ROUTES

NAME, QUESTION = (
    "harris~reduce_strided~4096~128",
    Question("How much faster?", ("less", "the same", "more"), 2, "1.45×."),
)
JSON = {"method": "POST", "content_type": "application/json"}
APP = Headers(Gate(Router([*phone.ROUTES, *votes.ROUTES], default=behind)))


@pytest.fixture(autouse=True)
def lecture(monkeypatch: pytest.MonkeyPatch, tmp_path: Path, request: pytest.FixtureRequest) -> Iterator[str]:
    monkeypatch.setenv("XDG_DATA_HOME", str(tmp_path))
    request.getfixturevalue("school")
    monkeypatch.setattr(votes, "GATHER_S", 0.0)
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
    votes.close()
    assert cast(one, 0).status == 409 and asked()["counts"] == [[0, 1, 1]] and asked()["right"] is None
    votes.answer(QUESTION)
    assert (asked()["right"], asked()["because"]) == (2, "1.45×.")


def test_nothing_tells_the_votes_of_an_open_round(lecture: str) -> None:
    votes.ask(lecture, NAME, QUESTION)
    for choice in (2, 2, 1):
        cast(guest(), choice)
    told = asked()
    assert (told["votes"], told["counts"], told["right"], told["because"]) == (3, [], None, None)
    assert str(QUESTION.because) not in feed.FEED.event(-1)[1].decode()
    assert room("/f/votes", query=f"t={tickets.ticket(lecture)}").body == "3" and room("/f/votes").status == 403


def test_a_second_round_stands_beside_the_first(lecture: str) -> None:
    browsers = [guest() for _ in range(3)]
    votes.ask(lecture, NAME, QUESTION)
    for cookie in browsers:
        cast(cookie, 0)
    votes.close()
    votes.ask(lecture, NAME, QUESTION)
    assert cast(browsers[0], 2, round=1).status == 409
    for cookie in browsers:
        cast(cookie, 2, round=2)
    votes.close()
    assert asked()["counts"] == [[3, 0, 0], [0, 0, 3]]
    (kept,) = store.all_asked(lecture)
    assert [round.counts for round in kept.rounds] == [(3, 0, 0), (0, 0, 3)] and kept.record["right"] == 2
    votes.withdraw()
    assert votes.now() is None and store.all_asked(lecture) == [kept]
    rows = list(csv.DictReader(store.csv_of([kept]).splitlines()))
    assert [(row["Round"], row["Answer"], row["Right"], row["Votes"]) for row in rows][::3] == [
        ("1", "less", "no", "3"), ("2", "less", "no", "0")
    ]  # fmt: skip


def test_hands_count_as_many_votes(lecture: str) -> None:
    votes.ask(lecture, NAME, QUESTION)
    votes.count_hands([12, 30, 5])
    assert asked()["votes"] == 47
    for wrong in ([1, 2], [0, 0, 0], [1, -1, 3], [10**6, 0, 0]):
        with pytest.raises(ValueError):
            votes.count_hands(wrong)
    votes.close()
    assert asked()["counts"] == [[12, 30, 5]]
    with pytest.raises(ValueError):
        votes.count_hands([1, 1, 1])


def test_two_hundred_votes_at_once_are_all_counted_and_written_together(
    lecture: str, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr(votes, "GATHER_S", 0.05)
    written: list[int] = []
    cast = store.cast
    monkeypatch.setattr(store, "cast", lambda *given: written.append(len(given[-1])) or cast(*given))
    votes.ask(lecture, NAME, QUESTION)
    told = asyncio.run(all_at_once(200))
    assert told == [204] * 200 and sum(written) == 200 and len(written) < 20
    votes.close()
    assert asked()["counts"] == [[67, 67, 66]]


async def all_at_once(number: int) -> list[int]:
    """What the server answers to so many browsers that vote at the same time."""

    async def one(choice: int) -> int:
        entered = await answer(APP, "/f", query=f"t={tickets.ticket(tickets.lecture())}", **FAR)
        body = json.dumps({"name": NAME, "round": 1, "choice": choice}).encode()
        return (await answer(APP, "/f/vote", body=body, cookie=cookie_of(entered), **FAR, **JSON)).status

    return await asyncio.gather(*(one(i % 3) for i in range(number)))


def test_a_vote_that_comes_while_the_question_closes_is_counted_or_refused(
    lecture: str, monkeypatch: pytest.MonkeyPatch
) -> None:
    """The round is closed after the vote was let in, and before it is written."""
    votes.ask(lecture, NAME, QUESTION)
    first, late = guest(), guest()
    assert cast(first, 0).status == 204
    write = votes._write_all

    def close_first(round: votes.Round, given: dict[str, int]) -> bool:
        votes.close()
        return write(round, given)

    monkeypatch.setattr(votes, "_write_all", close_first)
    assert cast(late, 1).status == 409
    assert asked()["counts"] == [[1, 0, 0]] and store.count(lecture, NAME, 1) == 0


def test_no_export_has_the_votes_of_an_open_round(lecture: str) -> None:
    votes.ask(lecture, NAME, QUESTION)
    cast(guest(), 2)
    (one,) = store.all_asked()
    assert (
        one.rounds == ()
        and store.csv_of([one]).count("\n") == 1
        and json.loads(store.json_of([one]))[0]["rounds"] == []
    )
    votes.withdraw()
    assert [round.counts for round in store.all_asked()[0].rounds] == [(0, 0, 1)]
    assert store.count(lecture, NAME, 1) == 0


def test_a_question_that_is_asked_once_more_later_goes_on_with_the_next_round(lecture: str) -> None:
    cookie = guest()
    votes.ask(lecture, NAME, QUESTION)
    cast(cookie, 0)
    votes.withdraw()
    votes.ask(lecture, NAME, replace(QUESTION, choices=("other", "bands", "now")))
    assert (asked()["round"], asked()["votes"], asked()["counts"]) == (2, 0, [[1, 0, 0]])
    assert asked()["choices"] == list(QUESTION.choices)
    votes.close()
    votes.ask(lecture, NAME, QUESTION)
    assert asked()["round"] == 2  # nobody has voted in it


def test_the_right_band_is_that_of_the_run_that_is_shown(lecture: str) -> None:
    votes.ask(lecture, NAME, QUESTION)
    votes.close()
    votes.answer(replace(QUESTION, right=1, because="0.99×."))
    assert (asked()["right"], asked()["because"]) == (1, "0.99×.")
    assert store.all_asked()[0].record["right"] == 1
    votes.ask(lecture, NAME, QUESTION)
    votes.close()
    votes.answer(Question("Another?", ("yes", "no"), 0))
    assert asked()["right"] == 1


def test_a_guest_votes_only_so_often_and_only_from_pages_of_this_server(lecture: str) -> None:
    votes.ask(lecture, NAME, QUESTION)
    hasty, patient = guest(), guest()
    assert [cast(hasty, 0).status for _ in range(votes.MOST + 2)] == [204] * votes.MOST + [429] * 2
    assert cast(patient, 1).status == 204
    body = json.dumps({"name": NAME, "round": 1, "choice": 2}).encode()
    assert room("/f/vote", body=body, cookie=patient, origin="https://elsewhere.org", **JSON).status == 403
    votes.close()
    assert asked()["counts"] == [[1, 1, 0]]


def test_the_question_of_another_lecture_takes_no_votes(lecture: str) -> None:
    votes.ask("another", NAME, QUESTION)
    assert cast(guest(), 0).status == 409


def test_the_votes_routes_are_served() -> None:
    assert {route.path for route in votes.ROUTES} <= {route.path for route in ROUTES}

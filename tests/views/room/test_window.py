"""The second window tells nobody but the presenter; guests may ask, briefly and not too often."""

from __future__ import annotations

import json
from collections.abc import Iterator
from pathlib import Path

import pytest
from starlette.routing import Router

from engine.catalogue import LADDERS
from engine.store import asked as store
from tests.views.access.asked import Answer, asked, behind
from tests.views.room.test_tickets import FAR, cookie_of, school  # noqa: F401
from views.access.gate import Gate
from views.access.headers import Headers
from views.room import notes, phone, tickets, votes, window

JSON = {"method": "POST", "content_type": "application/json"}
APP = Headers(Gate(Router([*phone.ROUTES, *votes.ROUTES, *window.ROUTES], default=behind)))


@pytest.fixture(autouse=True)
def lecture(monkeypatch: pytest.MonkeyPatch, tmp_path: Path, request: pytest.FixtureRequest) -> Iterator[str]:
    monkeypatch.setenv("XDG_DATA_HOME", str(tmp_path))
    request.getfixturevalue("school")
    shown = {"lecture": tickets.lecture(), "next": None, "ladder": "harris", "position": 1}
    monkeypatch.setattr(window, "_backstage", shown)
    yield tickets.lecture()


def sent(path: str, cookie: str = "", **given: object) -> Answer:
    return asked(APP, path, body=json.dumps(given).encode(), cookie=cookie, **{**FAR, **JSON})


def guest() -> str:
    return cookie_of(asked(APP, "/f", query=f"t={tickets.ticket(tickets.lecture())}", **FAR))


def test_the_window_needs_the_presenters_proof(lecture: str) -> None:
    proof = tickets.presenters(lecture)
    for path in ("state", "note", "done"):
        for key in ("", tickets.ticket(lecture), tickets.code(lecture), tickets.presenters("1")):
            assert sent(f"/f/presenter/{path}", guest(), key=key, id=1, text="x").status == 403
    told = json.loads(sent("/f/presenter/state", key=proof).body)
    assert "<li>" in told["note"]["html"] and not told["note"]["edited"] and told["began"] == int(lecture)
    assert "Begin with" not in asked(APP, "/f/presenter", **FAR).body


def test_a_note_is_edited_and_taken_back(lecture: str) -> None:
    proof, rung = tickets.presenters(lecture), LADDERS["harris"].rungs[1]
    before = notes.note_of(LADDERS["harris"], rung)
    assert sent("/f/presenter/note", key=proof, text="<b>mine</b>").status == 204
    told = json.loads(sent("/f/presenter/state", key=proof).body)["note"]
    assert told["edited"] and "<b>" not in told["html"] and told["text"] == "<b>mine</b>"
    assert sent("/f/presenter/note", key=proof, text="x" * (notes.LONGEST + 1)).status == 413
    assert sent("/f/presenter/note", key=proof, text=None).status == 204
    assert notes.note_of(LADDERS["harris"], rung) == before and not before[1]


def test_a_guest_asks_and_the_lecturer_has_done_with_it(lecture: str, monkeypatch: pytest.MonkeyPatch) -> None:
    one = guest()
    assert [sent("/f/ask", text="Why?").status, sent("/f/ask", one, text=" ").status] == [403, 400]
    assert sent("/f/ask", one, text="x" * (window.LONGEST + 1)).status == 400
    assert [sent("/f/ask", one, text=" Why\n a tree? ").status, sent("/f/ask", one, text="And?").status] == [204, 429]
    (question,) = store.all_of(lecture)
    assert question.text == "Why a tree?" and not question.done
    proof = tickets.presenters(lecture)
    assert sent("/f/presenter/done", key=proof, id=question.id).status == 204
    assert json.loads(sent("/f/presenter/state", key=proof).body)["asked"] == []


@pytest.mark.sampled(quick=2)
@pytest.mark.parametrize(
    "path", ["/f/presenter/state", "/f/presenter/note", "/f/presenter/done", "/f/ask", "/f/vote", "/f/moment"]
)
def test_a_request_that_is_no_json_is_an_answer(path: str, lecture: str) -> None:
    """Each body is refused or taken, and none ends in an error of the server."""
    one, proof = guest(), json.dumps(tickets.presenters(lecture))
    values = ("1e999", "NaN", "-Infinity", str(10**30), "9" * 5000, "[" * 400 + "]" * 400, "null", "{}", r'"\ud800"')
    names = ("id", "text", "round", "choice", "words", "drawing", "slot", "name")
    bodies = ["[" * 100_000, '{"key":' * 20_000, "[]", "1", "\xff"] + [
        f'{{"key": {proof}, {", ".join(f"{json.dumps(name)}: {value}" for name in names)}}}' for value in values
    ]
    for body in bodies:
        answer = asked(APP, path, body=body.encode("latin-1"), cookie=one, **{**FAR, **JSON})
        assert answer.status in (200, 204, 400, 403, 409, 413, 429), body[:80]


def test_the_shipped_notes_belong_to_rungs() -> None:
    for file in notes.FOLDER.glob("*.md"):
        assert set(notes.shipped(file)) <= {rung.label for rung in LADDERS[file.stem].rungs}
    assert len(notes.shipped(notes.FOLDER / "harris.md")) == len(LADDERS["harris"].rungs)

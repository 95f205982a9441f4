"""A ticket lets in to the room of one lecture until it ends, and to nothing else."""

from __future__ import annotations

import asyncio
import json
import re
from collections.abc import Iterator
from http.cookies import SimpleCookie

import pytest
from starlette.requests import HTTPConnection, Request
from starlette.routing import Router

from tests.views.access.asked import Answer, asked, behind
from views.access import policy, sign_in
from views.access.gate import Gate
from views.access.headers import Headers
from views.access.policy import KEYS, ROLES, Signer, token_in_cookies
from views.access.sign_in import WrongKeys
from views.room import feed, phone, tickets
from views.room.feed import Feed
from views.server.entry import EntryPage
from views.shared import presentation

APP = Headers(Gate(EntryPage(Router(phone.ROUTES, default=behind))))
GIVEN = {role: f"the-key-of-{role}" for role in ROLES}
FAR = {"client": "10.0.0.7", "host": "ladder.school.edu"}
FORM = {"method": "POST", "content_type": "application/x-www-form-urlencoded"}
SLIDE = {"ladder": "harris", "rung": "reduce_strided"}


@pytest.fixture(autouse=True)
def school(monkeypatch: pytest.MonkeyPatch) -> Iterator[list[float]]:
    """A server with keys, a lecture that is going on, and the seconds for which wrong codes would wait."""
    pauses: list[float] = []

    async def pause(seconds: float) -> None:
        pauses.append(seconds)

    keys = ",".join(f"{role}={key}" for role, key in GIVEN.items())
    monkeypatch.setattr(policy, "_current", policy.decide_policy("0.0.0.0", {KEYS: keys}, accounts=False))
    monkeypatch.setattr(presentation, "_found", None)
    monkeypatch.setattr(presentation, "FRESH_S", 0.0)
    monkeypatch.setattr(sign_in, "_wrong_keys", WrongKeys(lambda: 0.0))
    monkeypatch.setattr(sign_in, "_pause", pause)
    monkeypatch.setattr(phone, "FEED", Feed())
    monkeypatch.setattr(feed, "FEED", phone.FEED)
    presentation.show(SLIDE, "")
    phone.FEED.close()  # its streams end at once
    yield pauses


def room(path: str = "/f", **more: object) -> Answer:
    return asked(APP, path, **{**FAR, **more})  # type: ignore[arg-type]


def cookie_of(answer: Answer) -> str:
    (name, morsel), = SimpleCookie(answer.cookies[0]).items()  # fmt: skip
    return f"{name}={morsel.value}"


def guest(cookie: str) -> tickets.Guest | None:
    headers = [(b"cookie", cookie.encode())]
    return tickets.guest_of(HTTPConnection({"type": "http", "headers": headers, "client": ("10.0.0.7", 1)}))


def entered(cookie: str = "") -> str:
    """The cookie of a browser that has shown the ticket."""
    return cookie_of(room(query=f"t={tickets.ticket(tickets.lecture())}", **({"cookie": cookie} if cookie else {})))


def test_the_ticket_opens_the_room_and_leaves_the_address() -> None:
    answer = room(query=f"t={tickets.ticket(tickets.lecture())}")
    assert (answer.status, answer.header("location")) == (303, "./f")
    cookie = cookie_of(answer)
    assert room(cookie=cookie).status == 200 and 'id="code"' in room().body and 'id="label"' not in room().body
    assert room("/f/stream", cookie=cookie).status == 200 == room("/f/followers", cookie=cookie).status
    found = guest(cookie)
    assert found is not None and found.lecture == tickets.lecture() and re.fullmatch("[0-9a-f]{32}", found.name)


def test_a_ticket_has_at_least_128_bits_and_belongs_to_one_lecture_and_one_server() -> None:
    now = tickets.lecture()
    assert 6 * len(tickets.ticket(now)) >= 128
    assert tickets.ticket(str(int(now) + 1))[:8] != tickets.ticket(now)[:8]
    assert policy.current().signer.sign("a", "b") != Signer(b"another", {}).sign("a", "b")


def test_the_typed_code_opens_it_too_and_guesses_wait(school: list[float]) -> None:
    code = tickets.code(tickets.lecture())
    assert len(tickets.LETTERS) ** len(code) > 10**8
    answer = room(body=f"code={code[:3].upper()}+{code[3:]}".encode(), **FORM)
    assert answer.status == 303 and room(cookie=cookie_of(answer)).status == 200 and not school
    wrong = [room(body=b"code=aaaaaa", **FORM) for _ in range(30)]
    assert {one.status for one in wrong} == {401, 429} and not any(one.cookies for one in wrong) and school
    assert room(body=f"code={code}".encode(), **FORM).status == 303, "a right code waits for no wrong one"
    assert room(body=b"code=" + b"a" * 5000, **FORM).status == 413
    assert {room(query="t=guess").status for _ in range(3)} <= {401, 429}


def test_a_ticket_lets_in_to_nothing_else() -> None:
    cookie = entered()
    for path in ("/", "/lab", "/fx", "/lecture", "/media/x.png", "/static/js/index.js", "/_stcore/host-config"):
        assert asked(APP, path, cookie=cookie, **FAR).status == 401
    assert asked(APP, "/_stcore/stream", kind="websocket", cookie=cookie, **FAR).status == 403
    assert asked(APP, "/metrics", cookie=cookie, **FAR).status == 401
    named = cookie.partition("=")[2]
    asks = policy.current()
    for name in (policy.COOKIE, policy.COOKIE_BY_TLS):
        for text in (named, *(f"{role}.{named}" for role in ROLES), named.replace(".", ".presenter.")):
            assert token_in_cookies(asks, {name: text}) is None
            assert asked(APP, cookie=f"{name}={text}", **FAR).status == 401


def test_a_ticket_cannot_be_altered() -> None:
    cookie = entered()
    value = cookie.partition("=")[2]
    lecture, name, signature = value.split(".")
    other = "0" * 32 if name != "0" * 32 else "1" * 32
    for changed in (
        f"{lecture}.{other}.{signature}",
        f"{int(lecture) + 1}.{name}.{signature}",
        f"{lecture}.{name}.{signature[:-2]}AA",
        f"{lecture}.{name}.",
        f"{lecture}.{name}",
        f"{lecture}.{name}.{tickets.ticket(lecture)}",
    ):
        assert guest(f"{tickets.COOKIE}={changed}") is None
        assert room("/f/stream", cookie=f"{tickets.COOKIE}={changed}").status == 403
    ticket = tickets.ticket(lecture)
    assert not tickets.opens(ticket[:-1]) and not tickets.opens(ticket.swapcase()) and not tickets.opens("")


def test_it_is_void_after_the_lecture_and_in_the_next_one(monkeypatch: pytest.MonkeyPatch) -> None:
    cookie, ticket, code = entered(), tickets.ticket(tickets.lecture()), tickets.code(tickets.lecture())
    presentation.end()
    assert guest(cookie) is None and not tickets.opens(ticket) and not tickets.opens(code)
    assert room(cookie=cookie).status == 200 == room("/f/stream", cookie=cookie).status, "where it ended"
    presentation.show(SLIDE, "")
    assert guest(cookie) is not None, "the presenter has pressed Esc, and goes on"
    presentation.end()
    monkeypatch.setattr(presentation, "PAUSE", presentation.PAUSE * 0)
    presentation.show(SLIDE, "")
    assert guest(cookie) is None and not tickets.opens(ticket) and not tickets.opens(code)
    assert room("/f/stream", cookie=cookie).status == 403 and room(query=f"t={ticket}").status == 401
    assert 'name="code"' in room(cookie=cookie).body
    again = guest(entered(cookie))
    assert again is not None and again.name == cookie.split(".")[1], "one name for one browser"


def test_a_stream_ends_when_another_lecture_begins(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(phone, "FEED", Feed())
    headers = [(b"cookie", entered().encode())]
    monkeypatch.setattr(presentation, "PAUSE", presentation.PAUSE * 0)

    async def received() -> list[bytes]:
        asked = Request({"type": "http", "headers": headers, "query_string": b"", "client": ("10.0.0.7", 1)})
        events = []
        async for event in (await phone.stream(asked)).body_iterator:  # type: ignore[attr-defined]
            events.append(event)
            if len(events) == 2:
                presentation.end()
                presentation.show(SLIDE, "")
                phone.FEED.publish("slide", {"title": "of the next lecture"})
        return events

    events = asyncio.run(received())
    assert len(events) == 2 and b"next lecture" not in b"".join(events)


def test_a_signed_in_browser_and_a_server_without_keys_need_no_ticket(monkeypatch: pytest.MonkeyPatch) -> None:
    key = cookie_of(asked(APP, body=b"key=the-key-of-student", **FAR, **FORM))
    first = room(cookie=key)
    assert first.status == 200 and guest(f"{key}; {cookie_of(first)}") is not None and guest(key) is None
    monkeypatch.setattr(policy, "_current", policy.decide_policy("127.0.0.1", {}, accounts=False))
    here = asked(APP, "/f")
    assert here.status == 200 and asked(APP, "/f/stream", cookie=cookie_of(here)).status == 200
    assert room().status == 403 and room("/f/stream", cookie=cookie_of(here)).status == 403, "only this computer"


def test_with_accounts_a_ticket_is_enough(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(policy, "_current", policy.decide_policy("0.0.0.0", {}, accounts=True))
    assert room("/f/stream").status == 403 and 'id="label"' not in room().body
    assert 'id="label"' in room(cookie=entered()).body


def test_only_the_presenters_page_publishes_a_moment() -> None:
    for key in ("", tickets.ticket(tickets.lecture())):
        body = f'{{"key": "{key}", "words": "w", "drawing": "", "slot": 1}}'.encode()
        assert room("/f/moment", method="POST", body=body, cookie=entered()).status == 403
    assert room("/f/moment", method="POST", body=b"{}").status == 400
    moment = {"words": "line 7", "drawing": "<svg/>", "slot": 3.5}
    body = json.dumps({"key": tickets.presenters(tickets.lecture()), **moment}).encode()
    assert room("/f/moment", method="POST", body=body).status == 204
    assert feed.state()["moment"] == moment
    assert room("/f/moment", method="POST", body=body, origin="https://elsewhere.org").status == 403


def test_the_page_runs_only_its_own_scripts_and_is_no_page_of_streamlits() -> None:
    for answer in (room(), room(cookie=entered())):
        rules = str(answer.header("content-security-policy"))
        assert "default-src 'none'" in rules and "unsafe" not in rules and "connect-src 'self'" in rules
        assert "kernelLadder" not in answer.body and answer.header("cache-control") == "no-store"


def test_the_room_is_kept_below_another_address(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr("streamlit.get_option", lambda name: "ladder" if name == "server.baseUrlPath" else None)
    assert (
        asked(Gate(behind), "/ladder/f", **FAR).body == "reached" == asked(Gate(behind), "/ladder/f/vote", **FAR).body
    )
    assert asked(Gate(behind), "/ladder/fx", **FAR).status == 401

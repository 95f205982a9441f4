"""The server's copy of a draft is there after a restart, for the browser that wrote it and for no other."""

from __future__ import annotations

import asyncio
from dataclasses import replace
from typing import Any

import pytest

from engine.lab.setups import setup_of
from engine.store import database
from engine.store import drafts as store
from tests.sentences import says
from views.access import policy, visitor
from views.access.policy import Policy
from views.access.visitor import COOKIE, BrowserName
from views.lab import drafts, versions
from views.lab.drafts import Draft
from views.lab.results import my_drafts

BEGUN = Draft("abc", "empty", "as it starts", "empty.cu", setup=setup_of("k<<<1, 32>>>(n)"))
WRITTEN = replace(
    BEGUN, text="// mine µ", file="mine.cu", at=7, setup=setup_of("k<<<2, 32>>>(int32[n])", "a = copy(b)")
)


def as_browser(monkeypatch: pytest.MonkeyPatch, name: str | None) -> None:
    monkeypatch.setattr(visitor, "named_browser", lambda: name)


def test_a_draft_is_its_browsers_own_and_survives_the_server(monkeypatch: pytest.MonkeyPatch) -> None:
    as_browser(monkeypatch, "ada")
    drafts.store_draft(WRITTEN)
    database.close()  # and another server opens the file
    assert drafts.stored_draft(BEGUN) == WRITTEN
    assert drafts.stored_draft(replace(BEGUN, id="other")).text == "as it starts"
    assert drafts.stored_draft(replace(BEGUN, start="rung")).text == "as it starts"
    as_browser(monkeypatch, "bob")  # who was sent the address
    assert drafts.stored_draft(BEGUN) == BEGUN
    as_browser(monkeypatch, None)
    drafts.store_draft(WRITTEN)
    assert drafts.stored_draft(BEGUN) == BEGUN
    assert not database.read("SELECT * FROM drafts WHERE owner LIKE '%ada%'")  # no cookie can be read there


@pytest.mark.parametrize("raw", ["", "[]", "{}", "[" * 100_000, '{"start": "empty"}',
                                 '{"start": "empty", "text": 3, "file": "a"}',
                                 '{"start": "empty", "text": "a", "file": "a", "at": 1, "call": "?"}'])  # fmt: skip
def test_unreadable_entries_are_left_out(monkeypatch: pytest.MonkeyPatch, raw: str) -> None:
    as_browser(monkeypatch, "ada")
    drafts.store_draft(WRITTEN)
    (owner,) = database.read("SELECT owner FROM drafts")[0]
    store.save(owner, BEGUN.id, raw)
    assert drafts.stored_draft(BEGUN) == BEGUN


def test_half_of_an_emoji_is_no_error(monkeypatch: pytest.MonkeyPatch) -> None:
    as_browser(monkeypatch, "ada")
    held = {BEGUN.id: BEGUN}
    monkeypatch.setattr(drafts, "_drafts", lambda: held)
    assert drafts.take_draft({"draft": BEGUN.id, "text": "// \ud83d half", "at": 3})
    assert held[BEGUN.id].text == "// \ufffd half" == drafts.stored_draft(BEGUN).text


def test_an_earlier_text_comes_back_and_the_text_before_stays(monkeypatch: pytest.MonkeyPatch) -> None:
    as_browser(monkeypatch, "ada")
    held: dict[str, Draft] = {}
    monkeypatch.setattr(drafts, "_drafts", lambda: held)
    for at, text in enumerate(["one\n", "one\ntwo\n", "three\n"]):
        drafts.save(replace(BEGUN, text=text, at=at), keep=True)
    now = held[BEGUN.id]
    found = versions.of(now)
    assert [one.text for one in found] == ["one\ntwo\n", "one\n"]
    assert "adds 2 lines, takes away 1<code>+one</code>" in versions.listed(now, found)
    versions.presses(now, found)[f"earlier {found[1].number}"]()
    back = held[BEGUN.id]
    assert back.text == "one\n" and back.reset == now.reset + 1  # so the browser takes it
    assert [one.text for one in versions.of(back)] == ["three\n", "one\ntwo\n"]
    as_browser(monkeypatch, "bob")
    assert versions.of(now) == [] and says("lab.no-earlier-text", versions.listed(now, []))


def test_where_all_drafts_are_full_the_page_says_so(monkeypatch: pytest.MonkeyPatch) -> None:
    as_browser(monkeypatch, "ada")
    monkeypatch.setattr(store, "MOST_BYTES", 100)
    assert says("lab.drafts-full", str(drafts.store_draft(WRITTEN)))
    monkeypatch.setattr(store, "MOST_BYTES", 1 << 20)
    assert drafts.store_draft(WRITTEN) is None and drafts.stored_draft(BEGUN) == WRITTEN


def test_of_many_drafts_the_oldest_go(monkeypatch: pytest.MonkeyPatch) -> None:
    as_browser(monkeypatch, "ada")
    monkeypatch.setattr(drafts, "MOST_KEPT", 3)
    for number in range(5):
        monkeypatch.setattr(store, "now", lambda number=number: f"2026-11-22T10:00:0{number}+00:00")
        drafts.store_draft(replace(WRITTEN, id=f"draft{number}"))
    (owner,) = database.read("SELECT owner FROM drafts")[0]
    assert [store.load(owner, f"draft{number}") is not None for number in range(5)] == [False, False, True, True, True]


def cookie_of(cookies: bytes, kind: bytes = b"text/html; charset=utf-8", scheme: str = "http") -> bytes:
    sent: list[Any] = []

    async def send(message: Any) -> None:
        sent.append(message)

    async def page(scope: Any, receive: Any, send: Any) -> None:
        await send({"type": "http.response.start", "status": 200, "headers": [(b"content-type", kind)]})
        await send({"type": "http.response.body", "body": b""})

    async def receive() -> Any:
        raise AssertionError("nothing to receive")

    scope = {"type": "http", "scheme": scheme, "headers": [(b"cookie", cookies)] if cookies else []}
    asyncio.run(BrowserName(page)(scope, receive, send))
    return bytes(dict(sent[0]["headers"]).get(b"set-cookie", b""))


def test_a_browser_gets_a_name_with_its_first_page_and_keeps_it() -> None:
    first, second = cookie_of(b""), cookie_of(b"theme=dark")
    assert first.startswith(COOKIE.encode() + b"=") and b"HttpOnly; SameSite=Lax" in first and b"Secure" not in first
    assert first != second and cookie_of(b"a=b; " + first.split(b";")[0]) == b""
    assert b"Secure" in cookie_of(b"", scheme="https")
    assert cookie_of(COOKIE.encode() + b"=../../etc") and cookie_of(b"\xff=;=\x00")
    assert cookie_of(b"", kind=b"text/css") == b""


def test_a_browser_has_one_name_and_a_key_s_is_signed(monkeypatch: pytest.MonkeyPatch) -> None:
    as_browser(monkeypatch, "ada")
    assert visitor.name() == "ada"
    monkeypatch.setattr(policy, "_current", Policy("key", ""))
    assert cookie_of(b"") == b"", "the token of whoever signs in has a name"
    monkeypatch.setattr(visitor, "browser", lambda: "bob")
    assert visitor.name() == "bob"


def test_my_drafts_are_listed_with_what_tells_them_apart(monkeypatch: pytest.MonkeyPatch) -> None:
    as_browser(monkeypatch, "ada")
    assert drafts.kept_drafts() == []
    drafts.store_draft(replace(WRITTEN, text="// mine\n__global__ void k(int *a) {}"))
    rung = Draft("def", "rung", "// <b>", "reduce.cu", place="ladder=harris&rung=reduce_strided")
    drafts.store_draft(rung)
    drafts.store_draft(Draft("sheet-a", "sheet", "x", "first-saxpy.cu"))
    found = {one.file: one for one in drafts.kept_drafts()}
    assert set(found) == {"mine.cu", "reduce.cu"}, "a sheet has a page of its own"
    assert found["mine.cu"].line == "__global__ void k(int *a) {}"
    assert found["mine.cu"].address == "lab?start=empty&draft=abc"
    assert found["reduce.cu"].address == "lab?start=rung&draft=def&ladder=harris&rung=reduce_strided"
    html = my_drafts(list(found.values()), "def")
    assert html.count("<li>") == 2 and html.count("on this page") == 1 and "&lt;b&gt;" in html
    as_browser(monkeypatch, "bob")
    assert drafts.kept_drafts() == [] and "No draft" in my_drafts([], "")

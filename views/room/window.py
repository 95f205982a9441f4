"""The presenter's second window: the slide small, the next rung, notes, clock, followers, votes and questions.

It opens from the slide and shows its proof of presenting with every request. Its keys go to the slide's window, in the
browser; the server only tells it what the slide is.
"""

from __future__ import annotations

import asyncio
from datetime import UTC, datetime, timedelta
from typing import Any

from markdown_it import MarkdownIt
from starlette.requests import Request
from starlette.responses import JSONResponse, PlainTextResponse, Response
from starlette.routing import Route

from engine.catalogue import KERNELS, LADDERS, Rung
from engine.figures.bars import HELD
from engine.records.words import digits, text_of
from engine.store import asked as store
from views.access.sign_in import received_json
from views.ladder.view import Page, facts_of
from views.room import feed, notes, tickets
from views.room.phone import FRESH, html_page, refused
from views.shared import work

LARGEST = 4 * notes.LONGEST + 1000  # bytes of a request
LONGEST = 300  # characters of a question
WAIT_S = 1.0  # longest wait for a change of the slide; questions and followers are looked at so often
PAUSE = timedelta(seconds=5)  # between two questions of one guest

_backstage: dict[str, Any] = {}  # what only the presenter sees; the next step or a reload replaces it
_markdown = MarkdownIt("commonmark", {"html": False})


def prepare(page: Page) -> None:
    """Take over the next rung and the place of the notes from the presenter's page."""
    lecture = tickets.lecture()
    if not lecture or not work.is_presenting():
        return
    rungs, after = page.ladder.rungs, page.position + 1
    coming = _coming(rungs[after], facts_of(page).rows[after]) if after < len(rungs) else None
    _backstage.update({"lecture": lecture, "next": coming, "ladder": page.ladder.name, "position": page.position})


def _coming(rung: Rung, row: Any) -> dict[str, str]:
    whole = row.get(HELD, row)
    numbers = [text_of("time_us", whole["time_us"]), text_of("step", whole["step"])]
    return {"label": rung.label, "title": KERNELS[rung.kernel].title, "lead": rung.lead,
            "numbers": ", ".join(filter(None, numbers)) or str(whole["reason"] or "")}  # fmt: skip


async def page(request: Request) -> Response:
    """Show the window; what it tells needs the presenter's proof."""
    return html_page(request, "window.html", ("room.css", "window.css"), ("window.js",))


async def state(request: Request) -> Response:
    """Answer {key, seen} with everything that the window shows: at once, if it has not `seen` the last change."""
    given = await _given(request)
    if given is None:
        return refused()
    await feed.FEED.wait(digits(str(given.get("seen"))) or 0, WAIT_S)
    return JSONResponse(await asyncio.to_thread(_state), headers=FRESH)


def _state() -> dict[str, Any]:
    lecture, live = tickets.lecture(), feed.state()
    mine = _backstage if _backstage.get("lecture") == lecture else {}
    text, edited = "", False
    if mine:
        ladder = LADDERS[mine["ladder"]]
        text, edited = notes.note_of(ladder, ladder.rungs[mine["position"]])
    asked = [{"id": one.id, "text": one.text, "slide": one.slide} for one in store.all_of(lecture) if not one.done]
    return {
        "number": live["number"],
        "slide": live["slide"],
        "question": live["question"],
        "followers": live["followers"],
        "next": mine.get("next"),
        "note": {"text": text, "html": _markdown.render(text), "edited": edited},
        "asked": asked,
        "began": int(lecture) if lecture else None,
    }


async def note(request: Request) -> Response:
    """Keep the note of this slide: {key, text}; a text of null takes the edited one back."""
    given = await _given(request)
    if given is None or not _backstage:
        return refused()
    ladder = LADDERS[_backstage["ladder"]]
    text = given.get("text")
    try:
        await asyncio.to_thread(
            notes.keep_note, ladder, ladder.rungs[_backstage["position"]], None if text is None else str(text)
        )
    except ValueError as refusal:
        return PlainTextResponse(str(refusal), 413, FRESH)
    return Response(status_code=204, headers=FRESH)


async def done(request: Request) -> Response:
    """Mark a question as dealt with: {key, id}."""
    given = await _given(request)
    if given is None or type(given.get("id")) is not int or abs(given["id"]) >= 1 << 63:
        return refused()
    await asyncio.to_thread(store.set_done, tickets.lecture(), given["id"])
    return Response(status_code=204, headers=FRESH)


async def ask(request: Request) -> Response:
    """Take a guest's question for the lecturer: {text}."""
    guest = tickets.guest_of(request)
    if guest is None or not guest.lecture:
        return refused()
    try:
        text = " ".join(str((await received_json(request, 4 * LONGEST + 100))["text"]).split())
    except (ValueError, KeyError, TypeError):
        text = ""
    if not 0 < len(text) <= LONGEST:
        return PlainTextResponse(f"A question has 1 to {LONGEST} characters.", 400, FRESH)
    if await asyncio.to_thread(is_hasty, guest.lecture, guest.name):
        return PlainTextResponse("Wait a few seconds before the next question.", 429, FRESH)
    slide = (feed.state()["slide"] or {}).get("label", "")
    await asyncio.to_thread(store.keep, guest.lecture, guest.name, slide, text)
    return Response(status_code=204, headers=FRESH)


def is_hasty(lecture: str, guest: str) -> bool:
    """Return whether the guest has asked a moment ago."""
    last = store.last_of(lecture, guest)
    return bool(last) and abs(datetime.now(UTC) - datetime.fromisoformat(last)) < PAUSE


async def _given(request: Request) -> dict[str, Any] | None:
    """Return the request's JSON values, if they have the proof of the lecture that is going on."""
    try:
        given = await received_json(request, LARGEST)
        return given if tickets.is_presenters(str(given["key"])) else None
    except (ValueError, KeyError, TypeError):
        return None


ROUTES = (
    Route("/f/presenter", page),
    Route("/f/presenter/state", state, methods=["POST"]),
    Route("/f/presenter/note", note, methods=["POST"]),
    Route("/f/presenter/done", done, methods=["POST"]),
    Route("/f/ask", ask, methods=["POST"]),
)

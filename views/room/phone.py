"""The page for phones, /f, and the stream that keeps it where the lecture is."""

from __future__ import annotations

import asyncio
import gzip
from collections.abc import AsyncIterator
from contextlib import aclosing
from functools import lru_cache
from html import escape
from pathlib import Path
from urllib.parse import parse_qs

from starlette.requests import Request
from starlette.responses import (
    HTMLResponse,
    JSONResponse,
    PlainTextResponse,
    RedirectResponse,
    Response,
    StreamingResponse,
)
from starlette.routing import Route

from engine.records.words import digits
from views.access import sign_in
from views.access.headers import plain_page_policy
from views.access.sign_in import received, received_json
from views.room import feed, tickets
from views.room.feed import FEED
from views.server import navigation

FORM = "form.html"
HERE = Path(__file__).parent
STYLE = HERE.parent / "html" / "style.css"
STYLES = ("room.css", "../terms/terms.css")
# In this order; other parts of the page are in files of their own.
SCRIPTS = ("room.js", "vote.js", "ask.js", "../terms/terms.js")
LONGEST, LARGEST = 512, 200_000  # bytes of the form, and of a moment
FRESH = {"cache-control": "no-store"}


async def page(request: Request) -> Response:
    """Show the lecture to a guest; let in a browser with a ticket or the code; ask others for the code."""
    if request.method == "POST":
        return await _enter(request)
    given = request.query_params.get("t", "")
    if given and tickets.opens(given):
        answer: Response = RedirectResponse("./f", 303, FRESH)  # without the ticket, which others may not see
        tickets.issue(request, answer)
        return answer
    guest = tickets.guest_of(request, ended=True)
    if guest is None and not tickets.is_admitted(request):
        told = "This ticket is of another lecture."
        return await _refused_entry(request, told) if given else html_page(request, FORM)
    answer = html_page(request, "follow.html")
    if guest is None or tickets.is_admitted(request):
        tickets.issue(request, answer)
    return answer


async def _enter(request: Request) -> Response:
    """Answer to a typed code."""
    body = await received(request, LONGEST)
    if body is None:
        return html_page(request, FORM, told="This is not the code.", status=413)
    given = parse_qs(body.decode("utf-8", "replace")).get("code", [""])[0]
    if not tickets.opens(given):
        return await _refused_entry(request, "This is not the code of a lecture that is going on.")
    answer = RedirectResponse("./f", 303, FRESH)
    tickets.issue(request, answer)
    return answer


async def _refused_entry(request: Request, told: str) -> Response:
    """Ask again, after as long a wait as for a wrong class key."""
    status, _ = await sign_in.refusal(sign_in.address_of(request))
    return html_page(request, FORM, told=told, status=status)


async def stream(request: Request) -> Response:
    """Answer with the changes of the lecture's state, as server-sent events."""
    guest = tickets.guest_of(request, ended=True)
    if guest is None:
        return refused()
    given = request.headers.get("last-event-id") or request.query_params.get("seen", "")
    seen = -1 if (number := digits(given)) is None else number
    headers = {**FRESH, "x-accel-buffering": "no"}  # nginx would hold events back

    async def events() -> AsyncIterator[bytes]:
        async with aclosing(FEED.stream(seen, guest.name)) as changes:
            async for event in changes:
                if tickets.guest_of(request, ended=True) is None:  # another lecture has begun
                    return
                yield event

    return StreamingResponse(events(), 200, headers, "text/event-stream")


async def followers(request: Request) -> Response:
    """Answer with the number of followers, to guests, to the presenter's page and to those with its ticket."""
    allowed = (
        tickets.guest_of(request, ended=True)
        or tickets.is_admitted(request)
        or tickets.opens(request.query_params.get("t", ""))
    )
    if not allowed:
        return refused()
    return JSONResponse(FEED.followers(), headers=FRESH)


async def moment(request: Request) -> Response:
    """Take the moment of the block in motion from the presenter's page: {key, words, drawing, slot}. `drawing`: an SVG
    document; `slot`: of the picture's clock."""
    try:
        given = await received_json(request, LARGEST)
        key, words, drawing = (str(given[name]) for name in ("key", "words", "drawing"))
        slot = float(given["slot"])
    except (ValueError, KeyError, TypeError):
        return PlainTextResponse("This is no moment.", 400, FRESH)
    if not tickets.is_presenters(key):
        return refused()
    await asyncio.to_thread(feed.publish, "moment", {"words": words, "drawing": drawing, "slot": slot})
    return Response(status_code=204, headers=FRESH)


def refused() -> Response:
    """Refuse a request without a ticket."""
    return PlainTextResponse("This needs a ticket of the lecture.", 403, FRESH)


def html_page(
    request: Request,
    name: str,
    styles: tuple[str, ...] = STYLES,
    scripts: tuple[str, ...] = SCRIPTS,
    told: str = "",
    status: int = 200,
) -> Response:
    """Answer with a page of this folder. `told`: an alert on it."""
    body, packed = _page(name, styles, scripts, told)
    headers = {**FRESH, "content-security-policy": plain_page_policy(body), "vary": "accept-encoding"}
    if "gzip" in request.headers.get("accept-encoding", ""):
        return HTMLResponse(packed, status, {**headers, "content-encoding": "gzip"})
    return HTMLResponse(body, status, headers)


@lru_cache(maxsize=8)
def _page(name: str, styles: tuple[str, ...], scripts: tuple[str, ...], told: str) -> tuple[bytes, bytes]:
    """Return a page with its styles and scripts in it, plain and compressed: a hall opens it within a minute, each with
    one request."""
    style = "".join(f"<style>{(HERE / each).read_text()}</style>" for each in (STYLE, *styles))
    script = "".join(f"<script>{(HERE / each).read_text()}</script>" for each in scripts)
    page = (HERE / name).read_text().replace("<!-- icon -->", f'<link rel="icon" href="{navigation.icon()}">', 1)
    page = page.replace("<!-- styles -->", style, 1).replace("<!-- scripts -->", script, 1)
    page = page.replace("<!-- told -->", f'<p role="alert">{escape(told)}</p>' if told else "", 1)
    return page.encode(), gzip.compress(page.encode())


ROUTES = (
    Route("/f", page, methods=["GET", "POST"]),
    Route("/f/stream", stream),
    Route("/f/followers", followers),
    Route("/f/moment", moment, methods=["POST"]),
)

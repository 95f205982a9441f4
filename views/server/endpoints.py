"""The endpoints beside the pages: whether the server is alive and ready, its figures and, for pages that follow it, the
presentation.
"""

from __future__ import annotations

import asyncio
import time
from contextlib import suppress

from starlette.requests import Request
from starlette.responses import JSONResponse, PlainTextResponse, Response
from starlette.routing import Route

from engine.service import health
from views.access import lti
from views.room import phone, votes, window
from views.room.feed import FEED
from views.server import compiled
from views.shared import presence, presentation
from views.shared.presentation import Presentation
from views.terms import cards

WAIT_S = 20.0  # seconds that a following page waits for an answer; proxies and browsers give up much later
LOOK_S = 0.1
PROMETHEUS = "text/plain; version=0.0.4; charset=utf-8"

_looks: dict[int, asyncio.Task[Presentation | None]] = {}  # by the number that the pages have seen


async def _alive(request: Request) -> Response:
    return PlainTextResponse("ok")


async def _ready(request: Request) -> Response:
    found = await asyncio.to_thread(health.readiness)
    return JSONResponse(found.flat(), 200 if found.ready else 503)


async def _metrics(request: Request) -> Response:
    return Response(await asyncio.to_thread(health.metrics, presence.browsers()), media_type=PROMETHEUS)


async def _lecture(request: Request) -> Response:
    """Answer with the presentation's number, address and lecture.

    A page that follows has `seen` a number, and waits for the next one, up to a limit; with a block in motion also for
    another `moment` of the presenter's. Other pages know the `lecture` that is going on (0: none), and wait for another
    one.
    """
    asked, until = request.query_params, time.monotonic() + WAIT_S
    # Of many pages that ask at once only the first needs a thread of its own.
    found = presentation.now() if presentation.is_at_hand() else await asyncio.to_thread(presentation.now)
    if "seen" in asked:
        with FEED.follows(f"page {id(request)}"):
            moment = asked.get("moment")
            if asked["seen"] == str(_number(found)) and moment in (None, str(FEED.part("moment")[0])):
                changes = [_another(_number(found))]
                changes += [asyncio.create_task(FEED.change("moment", int(moment)))] if moment else []
                await asyncio.wait(changes, return_when=asyncio.FIRST_COMPLETED)
                for own in changes[1:]:
                    own.cancel()
                found = presentation.now()
    while asked.get("lecture") == str(_lecture_of(found)) and time.monotonic() < until and presence.browsers():
        with suppress(TimeoutError):
            await asyncio.wait_for(asyncio.shield(_another(_number(found))), until - time.monotonic())
        found = presentation.now()
    number, moment = FEED.part("moment")
    told = {"number": found.number, "address": found.address, "lecture": _lecture_of(found), "moment": number,
            "slot": moment and moment["slot"]} if found and found.going else {}  # fmt: skip
    return JSONResponse(told, headers={"cache-control": "no-store"})


def _another(number: int) -> asyncio.Task[Presentation | None]:
    """Return the task that waits for the number after this one, shared by all pages."""
    going = _looks.get(number)
    if going is None:
        going = _looks[number] = asyncio.create_task(_look(number))
        going.add_done_callback(lambda _: _looks.pop(number))
    return going


async def _look(number: int) -> Presentation | None:
    for _ in range(round(WAIT_S / LOOK_S)):
        await asyncio.sleep(LOOK_S)
        found = await asyncio.to_thread(presentation.now)
        if (
            _number(found) != number or not presence.browsers()
        ):  # none: the server is ending, and waits for every answer
            break
    return found


def _number(found: Presentation | None) -> int:
    """Return the number of the presentation; 0 without one."""
    return found.number if found and found.going else 0


def _lecture_of(found: Presentation | None) -> int:
    """Return the id of the lecture that is going on; 0 without one, or if nobody presents it any more."""
    return found.lecture if found and found.going and presentation.is_led() else 0


ROUTES = (
    Route("/healthz", _alive),
    Route("/readyz", _ready),
    Route("/metrics", _metrics),
    Route("/lecture", _lecture),
    *phone.ROUTES,
    *votes.ROUTES,
    *window.ROUTES,
    *cards.ROUTES,
    *compiled.ROUTES,
    *lti.ROUTES,
)

"""What is asked of the server beside its pages: whether it lives, whether it can work, how much it does; and, by pages
that follow it, where the lecture is."""

from __future__ import annotations

import asyncio

from starlette.requests import Request
from starlette.responses import JSONResponse, PlainTextResponse, Response
from starlette.routing import Route

from engine.service import health
from views.session import lecture, presence

PROMETHEUS = "text/plain; version=0.0.4; charset=utf-8"


async def _alive(request: Request) -> Response:
    return PlainTextResponse("ok")


async def _ready(request: Request) -> Response:
    found = await asyncio.to_thread(health.readiness)
    return JSONResponse(found.flat(), 200 if found.ready else 503)


async def _metrics(request: Request) -> Response:
    return Response(await asyncio.to_thread(health.metrics, presence.browsers()), media_type=PROMETHEUS)


async def _lecture(request: Request) -> Response:
    found = await asyncio.to_thread(lecture.now)
    told = {"number": found.number, "address": found.address} if found and found.going else {}
    return JSONResponse(told, headers={"cache-control": "no-store"})


ROUTES = (
    Route("/healthz", _alive),
    Route("/readyz", _ready),
    Route("/metrics", _metrics),
    Route("/lecture", _lecture),
)

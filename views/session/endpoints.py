"""What is asked of the server from outside: whether it lives, whether it can work, and how much it does."""

from __future__ import annotations

import asyncio

from starlette.requests import Request
from starlette.responses import JSONResponse, PlainTextResponse, Response
from starlette.routing import Route

from engine.service import health
from views.session import presence

PROMETHEUS = "text/plain; version=0.0.4; charset=utf-8"


async def _alive(request: Request) -> Response:
    return PlainTextResponse("ok")


async def _ready(request: Request) -> Response:
    found = await asyncio.to_thread(health.readiness)
    return JSONResponse(found.flat(), 200 if found.ready else 503)


async def _metrics(request: Request) -> Response:
    return Response(await asyncio.to_thread(health.metrics, presence.browsers()), media_type=PROMETHEUS)


ROUTES = (Route("/healthz", _alive), Route("/readyz", _ready), Route("/metrics", _metrics))

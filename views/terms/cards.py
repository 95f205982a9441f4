"""The endpoint of the terms' cards. A browser asks for all of them when it opens the first one."""

from __future__ import annotations

import gzip
import json
from functools import lru_cache

from starlette.requests import Request
from starlette.responses import Response
from starlette.routing import Route

from views.html.terms import cards

HEADERS = {"cache-control": "max-age=3600", "vary": "accept-encoding"}


async def _answer(request: Request) -> Response:
    """Answer with the name of each term -> its card."""
    if "gzip" in request.headers.get("accept-encoding", ""):
        return Response(_compressed(), 200, {**HEADERS, "content-encoding": "gzip"}, "application/json")
    return Response(_body(), 200, HEADERS, "application/json")


@lru_cache(maxsize=1)
def _body() -> bytes:
    return json.dumps(cards()).encode()


@lru_cache(maxsize=1)
def _compressed() -> bytes:
    return gzip.compress(_body())


ROUTES = (Route("/f/terms", _answer),)  # a path that a guest of the lecture may open, too

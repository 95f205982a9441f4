"""The browser's share of Streamlit, compressed: a lecture hall's first load shrinks from 10 MB to 3 MB a browser.

And the libraries of our own.
"""

from __future__ import annotations

import asyncio
import gzip
from collections.abc import Iterable
from functools import lru_cache
from pathlib import Path

from starlette.types import ASGIApp, Receive, Scope, Send

from views.session import assets
from views.session.assets import LIBRARIES

TYPES = {".js": b"text/javascript; charset=utf-8", ".css": b"text/css; charset=utf-8"}


class CompressedAssets:
    """ASGI middleware: answers /static/*.js and *.css itself, compressed once a process, to browsers that take gzip."""

    def __init__(self, app: ASGIApp) -> None:
        self.app = app

    async def __call__(self, scope: Scope, receive: Receive, send: Send) -> None:
        """Answer the request, or pass it on."""
        path = scope.get("path", "")
        own = _own(Path(path).name)  # also where the server is told to begin its addresses with another name
        if scope["type"] == "http" and scope["method"] == "GET" and (own is not None or path.startswith("/static/")):
            kind = TYPES.get(Path(path).suffix)
            accepted = dict(scope["headers"]).get(b"accept-encoding", b"")
            body = await asyncio.to_thread(_compressed, path) if kind and b"gzip" in accepted else None
            if kind and body is not None:
                headers = [
                    (b"content-type", kind),
                    (b"content-encoding", b"gzip"),
                    (b"content-length", str(len(body)).encode()),
                    (b"cache-control", b"public, immutable, max-age=31536000"),  # the names carry a hash
                    (b"vary", b"accept-encoding"),
                    (b"x-content-type-options", b"nosniff"),
                ]
                await send({"type": "http.response.start", "status": 200, "headers": headers})
                await send({"type": "http.response.body", "body": body})
                return
        await self.app(scope, receive, send)


def compress_ahead(names: Iterable[str]) -> None:
    """Compress these scripts, those that Streamlit's page names, and ours before a browser asks for them."""
    for path in (*(f"/static/js/{name}" for name in {*assets.named(), *names}), *map("/static/{}".format, LIBRARIES)):
        _compressed(path)


@lru_cache(maxsize=512)
def _compressed(path: str) -> bytes | None:
    """The asset at `path`, or None if it is none: the server then answers as it always does."""
    own = _own(Path(path).name)
    if own is not None:
        return gzip.compress(own, compresslevel=6)
    file = (assets.ASSETS / path.lstrip("/")).resolve()
    if not file.is_relative_to(assets.ASSETS.resolve()) or not file.is_file():
        return None
    return gzip.compress(file.read_bytes(), compresslevel=6)


def _own(name: str) -> bytes | None:
    """The text of a script of ours, or None."""
    if name in LIBRARIES:
        return LIBRARIES[name].read_bytes()
    chart = assets.chart()
    return chart[2] if chart is not None and name == chart[1] else None

"""The browser's share of Streamlit, compressed: a lecture hall's first load shrinks from 10 MB to 3 MB a browser.

And the libraries of our own.
"""

from __future__ import annotations

import asyncio
import gzip
from collections.abc import Iterable
from pathlib import Path

from starlette.types import ASGIApp, Receive, Scope, Send

from views.server import assets
from views.server.assets import LIBRARIES

_MOST = 512  # paths; Streamlit has fewer scripts
_kept: dict[str, bytes] = {}  # path -> what was compressed
TYPES = {".js": b"text/javascript; charset=utf-8", ".css": b"text/css; charset=utf-8"}


class CompressedAssets:
    """ASGI middleware: answers /static/*.js and *.css itself, compressed once a process, to browsers that take gzip."""

    def __init__(self, app: ASGIApp) -> None:
        self.app = app

    async def __call__(self, scope: Scope, receive: Receive, send: Send) -> None:
        """Answer the request, or pass it on."""
        path = scope.get("path", "")
        kind = TYPES.get(Path(path).suffix)
        if scope["type"] == "http" and scope["method"] == "GET" and kind and _takes_gzip(scope):
            body = _kept.get(path) or await asyncio.to_thread(_compressed, path)
            if body is not None:
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


def _takes_gzip(scope: Scope) -> bool:
    return b"gzip" in dict(scope["headers"]).get(b"accept-encoding", b"")


def compress_ahead(names: Iterable[str]) -> None:
    """Compress these scripts, those that Streamlit's page names, and ours before a browser asks for them."""
    for path in (*(f"/static/js/{name}" for name in {*assets.named(), *names}), *map("/static/{}".format, LIBRARIES)):
        _compressed(path)


def _compressed(path: str) -> bytes | None:
    """The asset at `path`, or None if it is none: the server then answers as it always does."""
    own = _own(Path(path).name)  # also where the server is told to begin its addresses with another name
    file = (assets.ASSETS / path.lstrip("/")).resolve()
    if own is None and not (file.is_relative_to(assets.ASSETS.resolve()) and file.is_file()):
        return None
    body = gzip.compress(file.read_bytes() if own is None else own, compresslevel=6)
    if len(_kept) < _MOST:
        _kept[path] = body
    return body


def _own(name: str) -> bytes | None:
    """The text of a script of ours, or None."""
    if name in LIBRARIES:
        return LIBRARIES[name].read_bytes()
    chart = assets.chart()
    return chart[2] if chart is not None and name == chart[1] else None

"""Scripts and styles for the browser: Streamlit's own and the libraries of our components, sent compressed.

The first page of a browser shrinks from 10 MB to 3 MB.
"""

from __future__ import annotations

import asyncio
import gzip
import re
from collections.abc import Iterable
from functools import lru_cache
from pathlib import Path

from starlette.types import ASGIApp, Receive, Scope, Send

from views.server.components import LIBRARIES
from views.server.streamlit_internals import PAGE, STATIC

_MOST = 512  # paths; Streamlit has fewer scripts
_kept: dict[str, bytes] = {}  # path -> the compressed asset
# Half of a library runs as soon as it is loaded. A browser that knows this line compiles all of the library outside the
# page's own thread.
_HINT = b"//# allFunctionsCalledOnLoad\n"
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
                    (b"cache-control", b"public, immutable, max-age=31536000"),  # the addresses carry a hash
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
    """Compress these scripts of Streamlit's, those that its page names, and our libraries, before a browser asks."""
    for path in (*(f"/static/js/{name}" for name in {*named(), *names}), *map("/static/{}".format, LIBRARIES)):
        _compressed(path)


def _compressed(path: str) -> bytes | None:
    """Return the compressed asset at `path`; None if there is none, and Streamlit answers the request."""
    if library := LIBRARIES.get(Path(path).name):  # also if the server's addresses begin with another name
        text = _HINT + library.read_bytes()
    else:
        try:
            file = (STATIC / path.lstrip("/")).resolve()
            if not (file.is_relative_to(STATIC.resolve()) and file.is_file()):
                return None
        except (OSError, ValueError):  # a name that no file can have
            return None
        text = file.read_bytes()
    body = gzip.compress(text, compresslevel=6)
    if len(_kept) < _MOST:
        _kept[path] = body
    return body


@lru_cache(maxsize=1)
def named() -> tuple[str, ...]:
    """Return the names of the scripts that Streamlit's page requests itself."""
    return tuple(re.findall(r"static/js/([\w.-]+\.js)", PAGE.read_text()))

"""The first page of a browser: Streamlit's own, with what must be there before Streamlit's scripts run."""

from __future__ import annotations

import json
from functools import lru_cache
from pathlib import Path

from starlette.requests import HTTPConnection
from starlette.types import ASGIApp, Message, Receive, Scope, Send

from views.access.gate import is_room, path_of
from views.access.headers import POLICY, page_policy
from views.server import keys
from views.server.components import library
from views.server.streamlit_internals import PARTS, ROOT, SCRIPTS, SERVER_PATH, STATIC_PATH
from views.shared import address

SCRIPT = Path(__file__).parents[1] / "html" / "browser.js"
TERMS = SCRIPT.parents[1] / "terms"
STYLES = (SCRIPT.with_name("style.css"), TERMS / "terms.css")
# Streamlit knows only the age of its own page, and nothing can be added to a compressed page.
_CONDITIONS = (b"if-none-match", b"if-modified-since", b"accept-encoding")
_OWN = (b"content-length", b"etag", b"last-modified")


class EntryPage:
    """ASGI middleware: adds our scripts and styles to the page, and names the parts to fetch ahead."""

    def __init__(self, app: ASGIApp) -> None:
        self.app = app

    async def __call__(self, scope: Scope, receive: Receive, send: Send) -> None:
        """Pass the request on; complete the answer if it is the page."""
        if scope["type"] != "http" or scope["method"] != "GET" or _is_other(path_of(HTTPConnection(scope))):
            await self.app(scope, receive, send)
            return
        headers = [(name, value) for name, value in scope["headers"] if name not in _CONDITIONS]
        start: Message = {}
        page = b""

        async def complete(message: Message) -> None:
            nonlocal start, page
            if message["type"] == "http.response.start" and _is_page(message):
                start = message
            elif start and message["type"] == "http.response.body":
                page += message.get("body", b"")
                if not message.get("more_body", False):
                    page = page.replace(b"<head>", b"<head>" + _head(), 1)
                    page = page.replace(b"</head>", _ahead() + b"</head>", 1).replace(ROOT, _style() + ROOT, 1)
                    kept = [(name, value) for name, value in start["headers"] if name not in _OWN]
                    kept += [(b"content-length", str(len(page)).encode()),
                             (POLICY, page_policy(page).encode())]  # fmt: skip
                    await send({**start, "headers": kept})
                    await send({"type": "http.response.body", "body": page})
            else:
                await send(message)

        await self.app({**scope, "headers": headers}, receive, complete)


def _is_other(path: str) -> bool:
    """Return whether this is no path of Streamlit's page."""
    return path.startswith((STATIC_PATH, SERVER_PATH)) or is_room(path)


def _is_page(start: Message) -> bool:
    kind = dict(start["headers"]).get(b"content-type", b"")
    return start["status"] == 200 and kind.startswith(b"text/html")


def parts() -> list[str]:
    """Return the names of the scripts to fetch ahead; otherwise a browser would request them after it has seen the
    page."""
    return [script.name for part in PARTS for script in SCRIPTS.glob(f"{part}.*.js")]


@lru_cache(maxsize=1)
def _style() -> bytes:
    return "".join(f"<style>{file.read_text()}</style>" for file in STYLES).encode()


@lru_cache(maxsize=1)
def _head() -> bytes:
    """Return the script that stands before Streamlit's own."""
    given = {"everywhere": keys.everywhere(), "presenting": keys.presenting(), "help": keys.help_html(),
             "optional": address.OPTIONAL, "quiet": address.QUIET}  # fmt: skip
    own = SCRIPT.read_text() + (TERMS / "terms.js").read_text()
    return f"<script>{own}\nwindow.kernelLadder.begin({json.dumps(given)});</script>".encode()


@lru_cache(maxsize=1)
def _ahead() -> bytes:
    """Return the scripts to fetch ahead, behind Streamlit's own: its page draws nothing before it has all of
    its own."""
    parts_ahead = "".join(f'<link rel="modulepreload" crossorigin href="./static/js/{name}">' for name in parts())
    plotly = library("plotly-basic.min.js")  # also runs ahead
    return f'{parts_ahead}<script type="module" async crossorigin src="{plotly}"></script>'.encode()

"""The page that a browser gets first, Streamlit's own, with what must be there before Streamlit's scripts run."""

from __future__ import annotations

import json
from functools import lru_cache
from pathlib import Path

from starlette.types import ASGIApp, Message, Receive, Scope, Send

from views.access import content_policy, policy
from views.server import assets, keys
from views.shared import address

SCRIPT = Path(__file__).parents[1] / "html" / "browser.js"
CONNECTION = SCRIPT.with_name("connection.js")
STYLE = SCRIPT.with_name("style.css")
_ROOT = b'<div id="root">'  # where Streamlit draws; its styles stand before it, those of single pages in it
# Parts of Streamlit that every page needs, but that a browser would ask for only once it has seen what stands on it.
PARTS = (assets.CHART, "Html", "BidiComponent", "ButtonGroup", "Selectbox", "Button", "DownloadButton")
# Streamlit knows the age of its own page only, and a compressed one cannot be added to.
_CONDITIONS = (b"if-none-match", b"if-modified-since", b"accept-encoding")
_OWN = (b"content-length", b"etag", b"last-modified")


class EntryPage:
    """ASGI middleware: adds `connection.js`, `browser.js` and `style.css` of `views/html` to the page, names the parts
    to fetch ahead and instead."""

    def __init__(self, app: ASGIApp) -> None:
        self.app = app

    async def __call__(self, scope: Scope, receive: Receive, send: Send) -> None:
        """Pass the request on; complete what comes back if it is the page."""
        if scope["type"] != "http" or scope["method"] != "GET" or scope["path"].startswith(("/static/", "/_stcore/")):
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
                    page = page.replace(b"<head>", b"<head>" + _head(policy.current().asks), 1)
                    page = page.replace(b"</head>", _ahead() + b"</head>", 1).replace(_ROOT, _style() + _ROOT, 1)
                    kept = [(name, value) for name, value in start["headers"] if name not in _OWN]
                    kept += [(b"content-length", str(len(page)).encode()),
                             (b"content-security-policy", content_policy.of_page(page).encode())]  # fmt: skip
                    await send({**start, "headers": kept})
                    await send({"type": "http.response.body", "body": page})
            else:
                await send(message)

        await self.app({**scope, "headers": headers}, receive, complete)


def _is_page(start: Message) -> bool:
    kind = dict(start["headers"]).get(b"content-type", b"")
    return start["status"] == 200 and kind.startswith(b"text/html")


def parts() -> list[str]:
    """The files' names of the parts to fetch ahead, and of what these import beyond what Streamlit's page names."""
    names = [file.name for part in PARTS for file in assets.scripts(part)]
    for name in names:
        names += [needed for needed in assets.imported(name) if needed not in (*names, *assets.named())]
    theirs, ours, _ = assets.chart() or ("", "", b"")
    return [ours if name == theirs else name for name in names]


@lru_cache(maxsize=1)
def _style() -> bytes:
    return f"<style>{STYLE.read_text()}</style>".encode()


@lru_cache(maxsize=8)
def _head(asks: str) -> bytes:
    """What stands before Streamlit's own."""
    given = {"everywhere": keys.everywhere(), "presenting": keys.presenting(), "help": keys.help_html(),
             "optional": address.OPTIONAL}  # fmt: skip
    # Whose account it is, the server believes who sends a cookie that Streamlit gets with its look at the server.
    first = "" if asks == "account" else CONNECTION.read_text()
    script = f"<script>{first}{SCRIPT.read_text()}\nwindow.kernelLadder.begin({json.dumps(given)});</script>"
    if (chart := assets.chart()) is not None:  # a map must stand before the first module that is asked for
        names = {f"./static/js/{chart[0]}": f"./static/js/{chart[1]}"}
        script += f'<script type="importmap">{json.dumps({"imports": names})}</script>'
    return script.encode()


@lru_cache(maxsize=1)
def _ahead() -> bytes:
    """What stands behind: Streamlit's page draws nothing before it has all of its own scripts."""
    ahead = "".join(f'<link rel="modulepreload" crossorigin href="./static/js/{name}">' for name in parts())
    if assets.chart() is not None:
        ahead += f'<script type="module" async crossorigin src="{assets.library(assets.PLOTLY.name)}"></script>'
    return ahead.encode()

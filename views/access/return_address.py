"""Signing in with an account leads to another site and back to the dashboard's first page: the address that was opened
waits in a cookie meanwhile, and is gone on to."""

from __future__ import annotations

from urllib.parse import quote, unquote

from starlette.requests import HTTPConnection
from starlette.responses import RedirectResponse, Response
from starlette.types import ASGIApp, Message, Receive, Scope, Send

from views.access import policy
from views.access.gate import path_of
from views.session.streamlit_internals import PATHS

COOKIE, WAITS_S = "kernel-ladder-asked", 600
_SIGNED_IN = "_streamlit_user"  # Streamlit's cookie of an account
_LONGEST = 3000  # of an address in a cookie, in bytes


class ReturnAddress:
    """ASGI middleware: remembers where somebody wanted to be who has yet to sign in, and leads there who has."""

    def __init__(self, app: ASGIApp) -> None:
        self.app = app

    async def __call__(self, scope: Scope, receive: Receive, send: Send) -> None:
        """Pass the request on, or lead it to the address that was wanted."""
        if scope["type"] != "http" or scope["method"] != "GET" or policy.current().asks != "account":
            await self.app(scope, receive, send)
            return
        asked = HTTPConnection(scope)
        here = f"{asked.url.path}?{asked.url.query}" if asked.url.query else asked.url.path
        no_page = path_of(asked).startswith((*PATHS, "/auth/", "/oauth2callback"))
        if no_page or "text/html" not in asked.headers.get("accept", ""):
            await self.app(scope, receive, send)
        elif _SIGNED_IN not in asked.cookies:
            await self.app(scope, receive, _remembering(here, scope, send))
        elif COOKIE in asked.cookies:
            wanted = unquote(asked.cookies[COOKIE])
            answer = RedirectResponse(wanted if _of_ours(wanted) else here, 303)
            answer.delete_cookie(COOKIE)
            await answer(scope, receive, send)
        else:
            await self.app(scope, receive, send)


def _remembering(here: str, scope: Scope, send: Send) -> Send:
    named = Response()
    value = quote(here, safe="")
    if len(value) <= _LONGEST:
        named.set_cookie(COOKIE, value, max_age=WAITS_S, path="/", httponly=True, samesite="lax",
                         secure=scope["scheme"] == "https")  # fmt: skip
    cookies = [(name, text) for name, text in named.raw_headers if name == b"set-cookie"]

    async def remembering(message: Message) -> None:
        if message["type"] == "http.response.start":
            message = {**message, "headers": [*message.get("headers", ()), *cookies]}
        await send(message)

    return remembering


def _of_ours(address: str) -> bool:
    """Whether it is an address of this server, and not one that a browser would take for another's."""
    return address.startswith("/") and not address.startswith(("//", "/\\")) and address.isprintable()

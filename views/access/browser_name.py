"""The name that a browser keeps where nobody is asked who they are: a cookie that only this server reads.

Where a key or an account is asked for, that says which browser it is, and there is no such cookie.
"""

from __future__ import annotations

import re
import secrets
from http.cookies import CookieError, SimpleCookie

import streamlit as st
from starlette.types import ASGIApp, Message, Receive, Scope, Send

from engine.store.drafts import KEPT_DAYS
from views.access import policy

COOKIE = "kernel-ladder-browser"
_AGE_S = KEPT_DAYS * 24 * 3600
_PAGE = b"text/html"
_NAME = re.compile(r"[0-9a-f]{32}")


class BrowserName:
    """ASGI middleware: gives a name to a browser that has none, with the page that it loads first."""

    def __init__(self, app: ASGIApp) -> None:
        self.app = app

    async def __call__(self, scope: Scope, receive: Receive, send: Send) -> None:
        """Pass the request on, and the answer; add the cookie to a page for who has no name."""
        if scope["type"] != "http" or policy.current().asks != "nothing" or _known(scope):
            await self.app(scope, receive, send)
            return

        async def named(message: Message) -> None:
            headers = message.get("headers", ())
            if message["type"] == "http.response.start" and dict(headers).get(b"content-type", b"").startswith(_PAGE):
                secure = "; Secure" if scope.get("scheme") == "https" else ""
                cookie = f"{COOKIE}={secrets.token_hex(16)}; Path=/; Max-Age={_AGE_S}; HttpOnly; SameSite=Lax{secure}"
                message = {**message, "headers": [*headers, (b"set-cookie", cookie.encode())]}
            await send(message)

        await self.app(scope, receive, named)


def browser() -> str | None:
    """The name of the browser that the script runs for; None of one that keeps no cookies."""
    return _valid(st.context.cookies.get(COOKIE))


def _known(scope: Scope) -> bool:
    try:
        found = SimpleCookie(dict(scope["headers"]).get(b"cookie", b"").decode("latin-1")).get(COOKIE)
    except CookieError:
        return False
    return found is not None and _valid(found.value) is not None


def _valid(name: object) -> str | None:
    return name if isinstance(name, str) and _NAME.fullmatch(name) else None

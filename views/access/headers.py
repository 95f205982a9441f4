"""The headers that protect the browser, as OWASP's ASVS asks: the Content-Security-Policy of each kind of answer, the
attributes of every cookie, and the rest."""

from __future__ import annotations

import base64
import re
from functools import lru_cache
from hashlib import sha256

from starlette.types import ASGIApp, Message, Receive, Scope, Send

# For answers other than pages, such as scripts and fonts: a browser applies it only if the address itself is opened.
NO_PAGE = "default-src 'none'; frame-ancestors 'self'"
# Streamlit sets styles from its scripts, loads components from addresses that it makes in the browser, and its protocol
# counts in WebAssembly.
_PAGE = (
    "default-src 'self'",
    "script-src 'self' blob: 'wasm-unsafe-eval' {scripts}",
    "style-src 'self' 'unsafe-inline'",
    "img-src 'self' data: blob:",
    "font-src 'self' data:",
    "media-src 'self' data: blob:",
    "worker-src 'self' blob:",
    "object-src 'none'",
    "base-uri 'self'",
    "form-action 'self'",
    "frame-ancestors 'self'",
)
_ALONE = (
    "default-src 'none'",
    "script-src {scripts}",
    "style-src {styles}",
    "connect-src 'self'",
    "img-src data:",
    "base-uri 'none'",
    "form-action 'self'",
    "frame-ancestors 'none'",
)
POLICY = b"content-security-policy"
_ALWAYS = (
    (b"x-content-type-options", b"nosniff"),
    (
        b"referrer-policy",
        b"same-origin",
    ),  # a link to another site must not pass the address on, as it may contain names
    (POLICY, NO_PAGE.encode()),  # of a page, which brings its own
)
_ENCRYPTED = ((b"strict-transport-security", b"max-age=31536000"),)


class Headers:
    """ASGI middleware: completes the headers of every answer."""

    def __init__(self, app: ASGIApp) -> None:
        self.app = app

    async def __call__(self, scope: Scope, receive: Receive, send: Send) -> None:
        """Pass the request on; complete the headers of the answer."""
        encrypted = scope.get("scheme") in ("https", "wss")

        async def complete(message: Message) -> None:
            if message["type"] == "http.response.start":
                message = {**message, "headers": completed(message.get("headers", ()), encrypted)}
            await send(message)

        await self.app(scope, receive, complete if scope["type"] == "http" else send)


def completed(headers: list[tuple[bytes, bytes]], encrypted: bool) -> list[tuple[bytes, bytes]]:
    """Return the headers with the missing ones added. `encrypted`: whether the browser came by TLS."""
    made = [(name, _cookie(value, encrypted) if name.lower() == b"set-cookie" else value) for name, value in headers]
    there = {name.lower() for name, _ in made}
    return [*made, *(one for one in (*_ALWAYS, *(_ENCRYPTED if encrypted else ())) if one[0] not in there)]


def _cookie(value: bytes, encrypted: bool) -> bytes:
    """Return a cookie, ours or Streamlit's, with the attributes that keep it from other sites and, if there is TLS,
    from plain HTTP."""
    attributes = [part.strip().partition(b"=")[0].lower() for part in value.split(b";")[1:]]
    if encrypted and b"secure" not in attributes:
        value += b"; Secure"
    return value if b"samesite" in attributes else value + b"; SameSite=Lax"


@lru_cache(maxsize=8)
def page_policy(page: bytes) -> str:
    """Return the Content-Security-Policy of Streamlit's page: its own scripts may run, and this server's."""
    return "; ".join(_PAGE).format(scripts=_hashes(page, b"script"))


@lru_cache(maxsize=8)
def plain_page_policy(page: bytes) -> str:
    """Return the Content-Security-Policy of a page of our own: it loads no file, but may ask this server for data."""
    return "; ".join(_ALONE).format(scripts=_hashes(page, b"script"), styles=_hashes(page, b"style"))


def _hashes(page: bytes, element: bytes) -> str:
    found = re.findall(rb"<%b>(.*?)</%b>" % (element, element), page, flags=re.DOTALL)
    return " ".join(f"'sha256-{base64.b64encode(sha256(text).digest()).decode()}'" for text in found) or "'none'"

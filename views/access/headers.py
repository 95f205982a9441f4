"""What every answer carries for the browser's protection, and what every cookie does."""

from __future__ import annotations

from starlette.types import ASGIApp, Message, Receive, Scope, Send

from views.access.content_policy import NO_PAGE

POLICY = b"content-security-policy"
_ALWAYS = (
    (b"x-content-type-options", b"nosniff"),
    (b"referrer-policy", b"same-origin"),  # a link to elsewhere does not tell the address, in which names may stand
    (POLICY, NO_PAGE.encode()),  # a page brings its own
)
_ENCRYPTED = ((b"strict-transport-security", b"max-age=31536000; includeSubDomains"),)


class Headers:
    """ASGI middleware: completes the headers of what is answered."""

    def __init__(self, app: ASGIApp) -> None:
        self.app = app

    async def __call__(self, scope: Scope, receive: Receive, send: Send) -> None:
        """Pass the request on; complete what comes back."""
        encrypted = scope.get("scheme") in ("https", "wss")

        async def complete(message: Message) -> None:
            if message["type"] == "http.response.start":
                message = {**message, "headers": completed(message.get("headers", ()), encrypted)}
            await send(message)

        await self.app(scope, receive, complete if scope["type"] == "http" else send)


def completed(headers: list[tuple[bytes, bytes]], encrypted: bool) -> list[tuple[bytes, bytes]]:
    """The headers with all that was missing. `encrypted`: whether the browser came by TLS."""
    made = [(name, _cookie(value, encrypted) if name.lower() == b"set-cookie" else value) for name, value in headers]
    there = {name.lower() for name, _ in made}
    return [*made, *(one for one in (*_ALWAYS, *(_ENCRYPTED if encrypted else ())) if one[0] not in there)]


def _cookie(value: bytes, encrypted: bool) -> bytes:
    """Streamlit's own cookies too: by TLS alone where there is TLS, and not from other sites."""
    attributes = [part.strip().partition(b"=")[0].lower() for part in value.split(b";")[1:]]
    if encrypted and b"secure" not in attributes:
        value += b"; Secure"
    return value if b"samesite" in attributes else value + b"; SameSite=Lax"

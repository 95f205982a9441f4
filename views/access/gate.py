"""The gate: refuses requests without the right to pass; after sign-in it sends a browser on to the address it asked
for."""

from __future__ import annotations

from urllib.parse import quote, unquote, urlsplit

import streamlit as st
from starlette.requests import HTTPConnection, Request
from starlette.responses import PlainTextResponse, RedirectResponse, Response
from starlette.types import ASGIApp, Message, Receive, Scope, Send

from views.access import policy, sign_in
from views.access.policy import ROLES, Policy, Role, is_loopback
from views.server.streamlit_internals import HEALTH, METRICS, PATHS

ALIVE = ("/healthz", HEALTH)  # tell that the server lives, and nothing else
SERVICE = ("/metrics", "/readyz", METRICS)
SIGN_OUT = "/sign-out"
ROOM = "/f"
LTI = "/lti/"
_SAFE = ("GET", "HEAD", "OPTIONS")
_FORWARDED = ("forwarded", "via", "x-forwarded-for", "x-forwarded-host", "x-forwarded-proto", "x-real-ip")

ONLY_HERE = (
    "This dashboard is open to its own computer alone. To let others in, its owner starts it with a class key: "
    "see docs/class.md."
)


class Gate:
    """ASGI middleware: answers refused requests, and requests to sign in or out."""

    def __init__(self, app: ASGIApp) -> None:
        self.app = app

    async def __call__(self, scope: Scope, receive: Receive, send: Send) -> None:
        """Pass the request on, or answer it."""
        if scope["type"] not in ("http", "websocket"):
            await self.app(scope, receive, send)
            return
        answer = await _answer(HTTPConnection(scope), receive, policy.current())
        if answer is None:
            await self.app(scope, receive, send)
        elif scope["type"] == "websocket":
            await receive()  # websocket.connect
            await send({"type": "websocket.close", "code": 1008})
        else:
            await answer(scope, receive, send)


async def _answer(asked: HTTPConnection, receive: Receive, asks: Policy) -> Response | None:
    """Return the answer in place of the requested one; None lets the request pass."""
    path, method = path_of(asked), str(asked.scope.get("method", ""))
    from_platform = path.startswith(LTI)  # it posts from its own site, and signs what it posts
    if (
        not _of_this_site(asked) and method not in _SAFE and not from_platform
    ):  # a websocket has no method, but can change things
        return _refused("This request came from another site.", 403)
    if path in ALIVE:
        return None
    token = policy.token_in_cookies(asks, asked.cookies)
    if path in SERVICE:
        return await _service(asked, asks, ROLES[token.role] if token else None)
    if asks.asks == "nothing":
        return None if is_local(asked) else _refused(ONLY_HERE, 403)
    # These ask themselves: `views.access.visitor`, `views.room.tickets`, `views.access.lti`.
    if asks.asks == "account" or is_room(path) or from_platform:
        return None
    if token is not None:
        leaves = method == "POST" and path == SIGN_OUT
        return sign_in.sign_out(asks, token, asked.url.scheme == "https") if leaves else None
    if method == "POST" and asked.headers.get("content-type", "").startswith("application/x-www-form-urlencoded"):
        return await sign_in.receive_form(Request(asked.scope, receive), asks)
    if method not in _SAFE or path.startswith(PATHS):
        return _refused("Sign in first: open the dashboard's own address.", 401)
    return sign_in.page(401)


async def _service(asked: HTTPConnection, asks: Policy, role: Role | None) -> Response | None:
    """Refuse the service's figures, except to programs on this computer, to roles with the right, or with such a role's
    key."""
    if is_local(asked) or (role is not None and role.sees_service):
        return None
    kind, _, key = asked.headers.get("authorization", "").partition(" ")
    if kind.lower() != "bearer":
        return _refused("For this computer, or with a key: Authorization: Bearer KEY.", 401)
    name = sign_in.check_key(asks, key, sign_in.address_of(asked))
    if name is None:
        status, told = await sign_in.refusal(sign_in.address_of(asked))
        return _refused(told, status)
    return None if ROLES[name].sees_service else _refused("This is not for students.", 403)


def is_room(path: str) -> bool:
    """Return whether this is a path of the room, which asks for a ticket of the lecture."""
    return path == ROOM or path.startswith(f"{ROOM}/")


def is_local(asked: HTTPConnection) -> bool:
    """Return whether the request comes from a program on this computer, and not through a proxy."""
    if asked.client is None or not is_loopback(asked.client.host) or not is_loopback(_host(asked)):
        return False
    # A proxy without forwarding headers speaks HTTP/1.0, as nginx does by default.
    return asked.scope.get("http_version") != "1.0" and not any(name in asked.headers for name in _FORWARDED)


def _host(asked: HTTPConnection) -> str:
    return urlsplit(f"//{asked.headers.get('host', '')}").hostname or ""


def _of_this_site(asked: HTTPConnection) -> bool:
    """Return whether a browser's request comes from a page of this server. Other programs send no origin."""
    origin = asked.headers.get("origin")
    return origin is None or urlsplit(origin).netloc == asked.headers.get("host")


def path_of(asked: HTTPConnection) -> str:
    """Return the path below the dashboard's own base path."""
    base = str(st.get_option("server.baseUrlPath") or "").strip("/")
    path = str(asked.scope["path"])
    return path.removeprefix(f"/{base}") or "/" if base and f"{path}/".startswith(f"/{base}/") else path


def _refused(sentence: str, status: int) -> Response:
    headers = {"cache-control": "no-store"} | ({"www-authenticate": "Bearer"} if status == 401 else {})
    return PlainTextResponse(sentence, status, headers)


RETURN_COOKIE, WAITS_S = "kernel-ladder-asked", 600
_SIGNED_IN = "_streamlit_user"  # Streamlit's cookie of an account
_LONGEST = 3000  # bytes of an address in a cookie


class ReturnAddress:
    """ASGI middleware: remembers the address that a visitor opened before sign-in, and leads there afterwards."""

    def __init__(self, app: ASGIApp) -> None:
        self.app = app

    async def __call__(self, scope: Scope, receive: Receive, send: Send) -> None:
        """Pass the request on, or redirect it to the remembered address."""
        if scope["type"] != "http" or scope["method"] != "GET" or policy.current().asks != "account":
            await self.app(scope, receive, send)
            return
        asked = HTTPConnection(scope)
        here = f"{asked.url.path}?{asked.url.query}" if asked.url.query else asked.url.path
        path = path_of(asked)
        no_page = is_room(path) or path.startswith((*PATHS, "/auth/", "/oauth2callback"))
        if no_page or "text/html" not in asked.headers.get("accept", ""):
            await self.app(scope, receive, send)
        elif _SIGNED_IN not in asked.cookies:
            await self.app(scope, receive, _remembering(here, scope, send))
        elif RETURN_COOKIE in asked.cookies:
            wanted = unquote(asked.cookies[RETURN_COOKIE])
            answer = RedirectResponse(wanted if _of_ours(wanted) else here, 303)
            answer.delete_cookie(RETURN_COOKIE)
            await answer(scope, receive, send)
        else:
            await self.app(scope, receive, send)


def _remembering(here: str, scope: Scope, send: Send) -> Send:
    named = Response()
    value = quote(here, safe="")
    if len(value) <= _LONGEST:
        named.set_cookie(RETURN_COOKIE, value, max_age=WAITS_S, path="/", httponly=True, samesite="lax",
                         secure=scope["scheme"] == "https")  # fmt: skip
    cookies = [(name, text) for name, text in named.raw_headers if name == b"set-cookie"]

    async def remembering(message: Message) -> None:
        if message["type"] == "http.response.start":
            message = {**message, "headers": [*message.get("headers", ()), *cookies]}
        await send(message)

    return remembering


def _of_ours(address: str) -> bool:
    """Return whether this is an address of this server that no browser can mistake for another server's."""
    return address.startswith("/") and not address.startswith(("//", "/\\")) and address.isprintable()

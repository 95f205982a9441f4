"""Signing in with a class key, and out again. The address that was opened is the form's own, so it survives."""

from __future__ import annotations

import json
import logging
from datetime import UTC, datetime
from html import escape
from pathlib import Path
from urllib.parse import parse_qs

from starlette.requests import HTTPConnection, Request
from starlette.responses import HTMLResponse, RedirectResponse, Response

from views.access import cookies, keys
from views.access.guesses import Guesses
from views.access.headers import plain_page_policy
from views.access.policy import Policy
from views.access.tokens import Token

LOG = logging.getLogger("kernel_ladder.access")
LONGEST = 4096  # bytes of a form

_PAGE = (Path(__file__).parent / "sign_in.html").read_text(encoding="utf-8")
_guesses = Guesses()


def page(status: int, told: str = "") -> Response:
    """The form. `told`: why it is shown again."""
    body = _PAGE.replace("<!-- told -->", f'<p role="alert">{escape(told)}</p>' if told else "", 1)
    headers = {"cache-control": "no-store", "content-security-policy": plain_page_policy(body.encode())}
    return HTMLResponse(body, status, headers)


async def received(request: Request, asks: Policy) -> Response:
    """The form that came back: on to the address that was opened, or the form again."""
    body = b""
    async for part in request.stream():
        body += part
        if len(body) > LONGEST:
            return page(413, "This is no class key.")
    given = parse_qs(body.decode("utf-8", "replace")).get("key", [""])[0]
    role, wait_s = checked(asks, given, address_of(request))
    if role is None:
        return page(429 if wait_s else 401, sentence(wait_s))
    answer = RedirectResponse(_same_address(request), 303, {"cache-control": "no-store"})
    token = asks.signer.issue(role, cookies.browser_of(asks, request.cookies))
    cookies.give(answer, token, request.url.scheme == "https")
    return answer


def out(asks: Policy, token: Token, encrypted: bool) -> Response:
    """Sign this browser out, in every tab. It keeps its name, under which its progress is."""
    asks.signer.revoke(token)
    answer = RedirectResponse("./", 303, {"cache-control": "no-store"})
    cookies.give(answer, asks.signer.issue(token.role, token.browser, now=0.0), encrypted)
    return answer


def checked(asks: Policy, key: str, address: str) -> tuple[str | None, int]:
    """The role that a key opens, or None; and the seconds that this address must wait before it may try again."""
    wait_s = _guesses.wait_s(address)
    role = None if wait_s else keys.role_of(asks.keys, key)
    if role is None and not wait_s:
        _guesses.failed(address)
    _log(role, address, "waits" if wait_s else "ok" if role else "wrong key")
    return role, wait_s


def sentence(wait_s: int) -> str:
    """Why a key was not taken."""
    if not wait_s:
        return "This is not the class key."
    return f"Too many wrong keys came from your network: try again in {-(-wait_s // 60)} min."


def address_of(asked: HTTPConnection) -> str:
    """Where somebody is, as far as it is known."""
    return asked.client.host if asked.client else ""


def _same_address(request: Request) -> str:
    """The address of the request, from itself: what stands before it, only a proxy knows."""
    last = request.scope.get("raw_path", b"/").rpartition(b"/")[2].decode("ascii", "ignore")
    return f"./{last}" + (f"?{request.url.query}" if request.url.query else "")


def _log(role: str | None, address: str, outcome: str) -> None:
    utc = datetime.now(UTC).isoformat(timespec="milliseconds")
    LOG.info(json.dumps({"utc": utc, "event": "sign-in", "outcome": outcome, "role": role, "address": address}))

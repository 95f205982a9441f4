"""Sign in with a class key, sign out, and answer wrong keys slowly."""

from __future__ import annotations

import asyncio
import ipaddress
import json
import logging
import threading
import time
from collections import OrderedDict
from collections.abc import Callable
from datetime import UTC, datetime
from html import escape
from math import isfinite
from pathlib import Path
from typing import Any
from urllib.parse import parse_qs

from starlette.requests import HTTPConnection, Request
from starlette.responses import HTMLResponse, RedirectResponse, Response

from engine.records.json_text import read_json
from engine.records.words import without_halves
from views.access import policy
from views.access.headers import plain_page_policy
from views.access.policy import Policy, Token

EVERY_S, LONGEST_WAIT_S = 1.0, 10.0  # pause between the answers to one network, and the longest wait of one answer
_ADDRESSES = 10_000


class WrongKeys:
    """Sends the answers to wrong keys one after the other, for each network separately. `clock`: seconds.

    A right key waits for none of them, so wrong keys hold up nobody.
    """

    def __init__(self, clock: Callable[[], float] = time.monotonic) -> None:
        self._clock = clock
        self._free: OrderedDict[str, float] = OrderedDict()
        self._lock = threading.Lock()

    def wait_s(self, address: str) -> float | None:
        """Return the seconds until a wrong key of this address is answered; None if too many wait already."""
        with self._lock:
            network, now = _network(address), self._clock()
            free = max(now, self._free.get(network, now)) + EVERY_S
            if free - now > LONGEST_WAIT_S:
                return None
            self._free[network] = free
            self._free.move_to_end(network)
            if len(self._free) > _ADDRESSES:
                self._free.popitem(last=False)
            return free - now


def _network(address: str) -> str:
    """Return the network of an address: a household with IPv6 has at least a /64."""
    try:
        found = ipaddress.ip_address(address)
    except ValueError:
        return address
    return str(ipaddress.ip_network((found, 64), strict=False)) if found.version == 6 else str(found)


LOG = logging.getLogger("kernel_ladder.access")
LONGEST = 4096  # bytes of a form

_PAGE = (Path(__file__).parent / "sign_in.html").read_text(encoding="utf-8")
_wrong_keys = WrongKeys()
_pause = asyncio.sleep


def page(status: int, told: str = "") -> Response:
    """Return the form. `told`: why it is shown again."""
    body = _PAGE.replace("<!-- told -->", f'<p role="alert">{escape(told)}</p>' if told else "", 1)
    headers = {"cache-control": "no-store", "content-security-policy": plain_page_policy(body.encode())}
    return HTMLResponse(body, status, headers)


async def received(request: Request, longest: int) -> bytes | None:
    """Return the body of a request; None if it is longer than so many bytes."""
    body = b""
    async for part in request.stream():
        body += part
        if len(body) > longest:
            return None
    return body


async def received_json(request: Request, longest: int) -> dict[str, Any]:
    """Return the JSON object that a request sends, its texts without halves of a letter. ValueError: it is longer than
    so many bytes, nested too deeply, has a number without a value, or is no object."""
    body = await received(request, longest)
    found = read_json(body or b"", number=_finite)
    if not isinstance(found, dict):
        raise ValueError("the JSON is no object")
    return {name: without_halves(value) if isinstance(value, str) else value for name, value in found.items()}


def _finite(digits: str) -> float:
    number = float(digits)
    if not isfinite(number):
        raise ValueError(f"{digits} is no number")
    return number


async def receive_form(request: Request, asks: Policy) -> Response:
    """Return the answer to a sent form: the address that was opened, or the form again."""
    body = await received(request, LONGEST)
    if body is None:
        return page(413, "This is no class key.")
    given = parse_qs(body.decode("utf-8", "replace")).get("key", [""])[0]
    role = check_key(asks, given, address_of(request))
    if role is None:
        return page(*await refusal(address_of(request)))
    answer = RedirectResponse(_same_address(request), 303, {"cache-control": "no-store"})
    token = asks.signer.issue(role, policy.browser_in_cookies(asks, request.cookies))
    policy.give_cookie(answer, token, request.url.scheme == "https")
    return answer


def sign_out(asks: Policy, token: Token, encrypted: bool) -> Response:
    """Sign this browser out in every tab. It keeps its name, which its progress is stored under."""
    asks.signer.revoke(token)
    answer = RedirectResponse("./", 303, {"cache-control": "no-store"})
    policy.give_cookie(answer, asks.signer.issue(token.role, token.browser, now=0.0), encrypted)
    return answer


def check_key(asks: Policy, key: str, address: str) -> str | None:
    """Return the role of a key, or None."""
    role = policy.role_of_key(asks.keys, key)
    _log(role, address, "ok" if role else "wrong key")
    return role


async def refusal(address: str) -> tuple[int, str]:
    """Wait as long as a wrong key of this address must; return the status and the sentence of the refusal."""
    wait_s = _wrong_keys.wait_s(address)
    if wait_s is None:
        return 429, "This is not the class key. Too many wrong keys come from your network: wait a few seconds."
    await _pause(wait_s)
    return 401, "This is not the class key."


def address_of(asked: HTTPConnection) -> str:
    """Return the network address of a request, as far as it is known."""
    return asked.client.host if asked.client else ""


def _same_address(request: Request) -> str:
    """Return the requested address from the request itself: its prefix is known only to a proxy."""
    last = request.scope.get("raw_path", b"/").rpartition(b"/")[2].decode("ascii", "ignore")
    return f"./{last}" + (f"?{request.url.query}" if request.url.query else "")


def _log(role: str | None, address: str, outcome: str) -> None:
    utc = datetime.now(UTC).isoformat(timespec="milliseconds")
    LOG.info(json.dumps({"utc": utc, "event": "sign-in", "outcome": outcome, "role": role, "address": address}))

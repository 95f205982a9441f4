"""Sign in with a class key, sign out, and limit the wrong keys per network address."""

from __future__ import annotations

import ipaddress
import json
import logging
import threading
import time
from collections import OrderedDict, deque
from collections.abc import Callable
from datetime import UTC, datetime
from html import escape
from math import ceil
from pathlib import Path
from urllib.parse import parse_qs

from starlette.requests import HTTPConnection, Request
from starlette.responses import HTMLResponse, RedirectResponse, Response

from views.access import policy
from views.access.headers import plain_page_policy
from views.access.policy import Policy, Token

MOST_GUESSES, WITHIN_S = 100, 3600.0  # ASVS 2.2.1: a hundred failed attempts an hour
_ADDRESSES = 10_000


class Guesses:
    """Failed attempts by network address. `clock`: seconds."""

    def __init__(self, clock: Callable[[], float] = time.monotonic) -> None:
        self._clock = clock
        self._failed: OrderedDict[str, deque[float]] = OrderedDict()
        self._lock = threading.Lock()

    def wait_s(self, address: str) -> int:
        """Return the whole seconds until this address may try again; 0 if it may now."""
        with self._lock:
            failed = self._failed.get(_network(address), ())
            return max(0, ceil(failed[0] + WITHIN_S - self._clock())) if len(failed) == MOST_GUESSES else 0

    def failed(self, address: str) -> None:
        """Count a wrong key of this address."""
        with self._lock:
            network = _network(address)
            self._failed.setdefault(network, deque(maxlen=MOST_GUESSES)).append(self._clock())
            self._failed.move_to_end(network)
            if len(self._failed) > _ADDRESSES:
                self._failed.popitem(last=False)


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
_guesses = Guesses()


def page(status: int, told: str = "") -> Response:
    """Return the form. `told`: why it is shown again."""
    body = _PAGE.replace("<!-- told -->", f'<p role="alert">{escape(told)}</p>' if told else "", 1)
    headers = {"cache-control": "no-store", "content-security-policy": plain_page_policy(body.encode())}
    return HTMLResponse(body, status, headers)


async def receive_form(request: Request, asks: Policy) -> Response:
    """Return the answer to a sent form: the address that was opened, or the form again."""
    body = b""
    async for part in request.stream():
        body += part
        if len(body) > LONGEST:
            return page(413, "This is no class key.")
    given = parse_qs(body.decode("utf-8", "replace")).get("key", [""])[0]
    role, wait_s = check_key(asks, given, address_of(request))
    if role is None:
        return page(429 if wait_s else 401, refusal(wait_s))
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


def check_key(asks: Policy, key: str, address: str) -> tuple[str | None, int]:
    """Return the role of a key, or None, and the seconds that this address must wait before the next attempt."""
    wait_s = _guesses.wait_s(address)
    role = None if wait_s else policy.role_of_key(asks.keys, key)
    if role is None and not wait_s:
        _guesses.failed(address)
    _log(role, address, "waits" if wait_s else "ok" if role else "wrong key")
    return role, wait_s


def refusal(wait_s: int) -> str:
    """Return the sentence that refuses a key."""
    if not wait_s:
        return "This is not the class key."
    return f"Too many wrong keys came from your network: try again in {-(-wait_s // 60)} min."


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

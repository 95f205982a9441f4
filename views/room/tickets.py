"""Tickets of a lecture: they let a browser follow it, vote and ask, and nothing else, until it ends.

A ticket and a short code belong to the lecture: both are signatures of its id by the server's secret. A browser that
shows one of them gets a cookie with a name of its own, signed for this lecture. Visitors that the access policy admits
need no ticket, only the name.
"""

from __future__ import annotations

import hmac
import re
import secrets
from dataclasses import dataclass

from starlette.requests import HTTPConnection
from starlette.responses import Response

from views.access import policy
from views.shared import presentation

COOKIE = "kernel-ladder-guest"
LETTERS, CODE = "abcdefghjkmnpqrstuvwxyz", 6  # without letters that look alike; 27 bits, and each guess waits
TICKET = 22  # letters of 6 bits each: 132 bits
_AGE_S = 12 * 3600
# No class key contains a space, so none can make one of these signatures.
_TICKET, _CODE, _GUEST, _PRESENTER = (f"{name} of a lecture" for name in ("ticket", "code", "guest", "presenter"))
_COOKIE = re.compile(r"(\d*)\.([0-9a-f]{32})\.([\w-]{43})", re.ASCII)


@dataclass(frozen=True)
class Guest:
    """A browser that may follow, vote and ask. `name`: stands for the browser, and tells nothing about its user;
    `lecture`: the id of the lecture that is going on, or ""."""

    name: str
    lecture: str


def lecture(*, ended: bool = False) -> str:
    """Return the id of the lecture that is going on, or ""; with `ended`, else that of the last one."""
    found = presentation.now()
    return str(found.lecture) if found and (found.going or ended) else ""


def ticket(lecture: str) -> str:
    """Return the ticket of a lecture."""
    return policy.proof_of(_TICKET, lecture)[:TICKET]


def code(lecture: str) -> str:
    """Return the short code of a lecture, to be typed."""
    number = int.from_bytes(policy.current().signer.sign(_CODE, lecture), "big")
    return "".join(LETTERS[number // len(LETTERS) ** i % len(LETTERS)] for i in range(CODE))


def presenters(lecture: str) -> str:
    """Return the proof by which the presenter's own browser publishes parts of the lecture."""
    return policy.proof_of(_PRESENTER, lecture)


def is_presenters(given: str) -> bool:
    """Return whether this is the proof of the lecture that is going on."""
    now = lecture()
    return now != "" and hmac.compare_digest(given.encode(), presenters(now).encode())


def opens(given: str) -> bool:
    """Return whether this is the ticket or the code of the lecture that is going on."""
    now, given = lecture(), given.strip()
    typed = re.sub(r"[\s-]", "", given).lower()
    every = [hmac.compare_digest(given.encode(), ticket(now).encode()),
             hmac.compare_digest(typed.encode(), code(now).encode())]  # fmt: skip
    return now != "" and any(every)


def guest_of(request: HTTPConnection, *, ended: bool = False) -> Guest | None:
    """Return the guest whose browser sent this request; None if it may not follow, or has no name yet. With `ended`,
    guests of a lecture that is over are its guests until the next one begins."""
    issued, name = _named(request)
    now = lecture(ended=ended)
    if not name or not (is_admitted(request) or (now and issued == now)):
        return None
    return Guest(name, now)


def is_admitted(request: HTTPConnection) -> bool:
    """Return whether the access policy admits this visitor to every page."""
    asks = policy.current()
    if asks.asks == "key":
        return policy.token_in_cookies(asks, request.cookies) is not None
    return asks.asks == "nothing"  # the gate lets only this computer in


def issue(request: HTTPConnection, answer: Response) -> None:
    """Give the browser a name for the lecture that is going on; it keeps the name that it has."""
    payload = f"{lecture()}.{_named(request)[1] or secrets.token_hex(16)}"
    answer.set_cookie(COOKIE, f"{payload}.{policy.proof_of(_GUEST, payload)}", max_age=_AGE_S, path="/", httponly=True,
                      samesite="lax", secure=request.url.scheme == "https")  # fmt: skip


def _named(request: HTTPConnection) -> tuple[str, str]:
    """Return the lecture that the browser has a ticket for, and its name; "" for each that it lacks."""
    found = _COOKIE.fullmatch(request.cookies.get(COOKIE, ""))
    if found is None or not hmac.compare_digest(found[3], policy.proof_of(_GUEST, f"{found[1]}.{found[2]}")):
        return "", ""
    return found[1], found[2]

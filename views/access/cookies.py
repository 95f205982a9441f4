"""The cookie of whoever has signed in with a class key."""

from __future__ import annotations

from collections.abc import Mapping

from starlette.responses import Response

from engine.store.drafts import KEPT_DAYS
from views.access.policy import Policy
from views.access.tokens import Token

# By TLS the name says that only this host can have set it; browsers see to that.
NAME, BY_TLS = "kernel-ladder", "__Host-kernel-ladder"
_AGE_S = KEPT_DAYS * 24 * 3600  # the browser's name is known for longer than its key is good


def token_of(asks: Policy, cookies: Mapping[str, str]) -> Token | None:
    """The valid token among these cookies."""
    return next(filter(None, (asks.signer.read(cookies.get(name, "")) for name in (BY_TLS, NAME))), None)


def browser_of(asks: Policy, cookies: Mapping[str, str]) -> str | None:
    """The name of a browser that has been here, however long ago."""
    found = next(filter(None, (asks.signer.known(cookies.get(name, "")) for name in (BY_TLS, NAME))), None)
    return found.browser if found else None


def give(answer: Response, value: str, encrypted: bool) -> None:
    """Let the browser keep a token."""
    answer.set_cookie(BY_TLS if encrypted else NAME, value, max_age=_AGE_S, path="/", secure=encrypted,
                      httponly=True, samesite="lax")  # fmt: skip

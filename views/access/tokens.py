"""What a browser shows once it has signed in: its role and its own name, signed, for as long as ASVS lets it."""

from __future__ import annotations

import base64
import hmac
import secrets
import threading
import time
from collections.abc import Mapping
from dataclasses import dataclass

LASTS_S = 30 * 86400.0  # ASVS 3.3.2, level 1


@dataclass(frozen=True)
class Token:
    """`browser`: a name of its own, which is no secret; `issued`: when it signed in, in ms since 1970."""

    role: str
    browser: str
    issued: int


class Signer:
    """Makes tokens and reads them. A token is void when its role's key has changed, or its browser has signed out."""

    def __init__(self, secret: bytes, keys: Mapping[str, str]) -> None:
        self._secret, self._keys = secret, keys
        self._void: dict[str, int] = {}  # browser -> of its tokens, those issued by then
        self._lock = threading.Lock()

    def issue(self, role: str, browser: str | None = None, now: float | None = None) -> str:
        """A new token, for a browser that has had one, or for a new one."""
        issued = int((time.time() if now is None else now) * 1000)
        payload = f"{role}.{browser or secrets.token_hex(8)}.{issued}"
        return f"{payload}.{self._signature(role, payload)}"

    def read(self, text: str, now: float | None = None) -> Token | None:
        """The token, if it is one and still valid."""
        token = self.known(text)
        if token is None or self._void.get(token.browser, 0) >= token.issued:
            return None
        age_s = (time.time() if now is None else now) - token.issued / 1000
        return token if 0 - 60.0 <= age_s < LASTS_S else None

    def known(self, text: str) -> Token | None:
        """The token, if it is one of ours, whether it is still valid or not."""
        payload, _, signature = text.rpartition(".")
        role, _, rest = payload.partition(".")
        browser, _, issued = rest.partition(".")
        if role not in self._keys or not hmac.compare_digest(
            signature.encode(), self._signature(role, payload).encode()
        ):
            return None
        return Token(role, browser, int(issued))

    def revoke(self, token: Token) -> None:
        """From now on this browser's tokens are void."""
        with self._lock:
            oldest = time.time() * 1000 - LASTS_S * 1000
            self._void = {name: at for name, at in self._void.items() if at > oldest}
            self._void[token.browser] = max(token.issued, self._void.get(token.browser, 0))

    def _signature(self, role: str, payload: str) -> str:
        key = hmac.digest(self._secret, self._keys[role].encode(), "sha256")
        return base64.urlsafe_b64encode(hmac.digest(key, payload.encode(), "sha256")).decode().rstrip("=")

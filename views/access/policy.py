"""Who may come in: class keys, roles and their rights, and the signed tokens that browsers keep as cookies."""

from __future__ import annotations

import base64
import hmac
import importlib.util
import ipaddress
import os
import re
import secrets
import sys
import threading
import time
from collections.abc import Mapping
from dataclasses import dataclass, field
from hashlib import sha256
from pathlib import Path
from typing import Literal

import streamlit as st
from starlette.responses import Response

from engine.records import NotRunnable
from engine.service.limits import Limits
from engine.store import database
from engine.store.drafts import KEPT_DAYS

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


@dataclass(frozen=True)
class Role:
    """`goes_first`: while presenting, its runs go before all others; `prepares`: may warm up a whole ladder;
    `sees_students`: how far each student is; `sees_service`: the doctor's list, and /metrics and /readyz from another
    computer; `limits`: of one browser."""

    name: str
    goes_first: bool
    prepares: bool
    sees_students: bool
    sees_service: bool
    limits: Limits


PRESENTER = Role(
    "presenter", goes_first=True, prepares=True, sees_students=True, sees_service=True,
    limits=Limits("a presenter"),
)  # fmt: skip
ASSISTANT = Role(
    "assistant", goes_first=False, prepares=True, sees_students=True, sees_service=True,
    limits=Limits("an assistant", runs=960, worker_s=240, n=2**28, memory=4 << 30),
)  # fmt: skip
STUDENT = Role(
    "student", goes_first=False, prepares=False, sees_students=False, sees_service=False,
    limits=Limits("a student", runs=240, worker_s=60, n=2**26, memory=1 << 30),
)  # fmt: skip
ROLES = {role.name: role for role in (PRESENTER, ASSISTANT, STUDENT)}


KEYS, KEYS_FILE = "KERNEL_LADDER_KEYS", "KERNEL_LADDER_KEYS_FILE"  # the variables
SHORTEST_KEY = 12
_LETTERS = "abcdefghjkmnpqrstuvwxyz23456789"  # nothing that is taken for something else on a blackboard
_GROUPS, _IN_GROUP = 3, 5  # 15 letters of 31: 74 bits


class BadKeys(Exception):
    """The keys that were given cannot be used, and why."""


def parse_keys(text: str) -> dict[str, str]:
    """Role -> key, of "presenter=..." words; a line may begin with # as a remark. BadKeys."""
    lines = [line.strip() for line in text.splitlines()]
    words = re.split(r"[,\s]+", re.sub(r"\s*=\s*", "=", " ".join(line for line in lines if not line.startswith("#"))))
    keys: dict[str, str] = {}
    for word in filter(None, words):
        role, _, key = word.partition("=")
        if role not in ROLES:  # and the word itself is not repeated: it may be a key
            raise BadKeys(f"A class key is given as ROLE=KEY, where ROLE is one of {', '.join(ROLES)}.")
        if len(key) < SHORTEST_KEY:
            raise BadKeys(f"The key of {role} is too short: a key has at least {SHORTEST_KEY} letters.")
        keys[role] = key
    if not keys:
        raise BadKeys(f"No class key is given: write ROLE=KEY, where ROLE is one of {', '.join(ROLES)}.")
    if len(set(keys.values())) < len(keys):
        raise BadKeys("Two roles have the same key: each needs its own.")
    return keys


def generate_keys() -> dict[str, str]:
    """A new key for each role."""
    return {role: "-".join("".join(secrets.choice(_LETTERS) for _ in range(_IN_GROUP)) for _ in range(_GROUPS))
            for role in ROLES}  # fmt: skip


def keys_in_file(path: Path) -> tuple[dict[str, str], bool]:
    """The keys in a file and whether it was made just now, as it was not there. BadKeys, OSError."""
    made = write_once(path, "".join(f"{role} = {key}\n" for role, key in generate_keys().items()))
    return parse_keys(path.read_text(encoding="utf-8")), made


def write_once(path: Path, text: str) -> bool:
    """Write a file that only its owner can read, unless it is there already; whether it was written. OSError."""
    path.parent.mkdir(mode=0o700, parents=True, exist_ok=True)
    try:
        with os.fdopen(os.open(path, os.O_WRONLY | os.O_CREAT | os.O_EXCL, 0o600), "w", encoding="utf-8") as file:
            file.write(text)
    except FileExistsError:
        return False
    return True


def role_of_key(keys: Mapping[str, str], given: str) -> str | None:
    """The role that this key opens. It takes as long whichever key it is, or none."""
    digest = sha256(given.strip().encode()).digest()
    found = None
    for role, key in keys.items():
        if hmac.compare_digest(digest, sha256(key.encode()).digest()):
            found = role
    return found


ACCOUNTS_NEED = ("authlib", "httpx")  # packages that Streamlit's sign-in imports
_SECRET_FILE, _OWN_KEYS_FILE = "cookie-secret", "class-keys"

_lock = threading.Lock()
_current: Policy | None = None


@dataclass(frozen=True)
class Policy:
    """`asks`: for nothing, for a class key, or for an account; `keys`: role -> key; `said`: the line at the start."""

    asks: Literal["nothing", "key", "account"]
    said: str
    keys: Mapping[str, str] = field(default_factory=dict, repr=False)
    signer: Signer = field(default_factory=lambda: Signer(secrets.token_bytes(32), {}), repr=False)


def begin() -> None:
    """Say what was decided. `keys.BadKeys`, NotRunnable."""
    print(current().said, flush=True)


def current() -> Policy:
    """What is asked. `keys.BadKeys` or NotRunnable, the first time."""
    global _current
    with _lock:
        if _current is None:
            _current = decided(st.get_option("server.address"), os.environ, _has_accounts())
        return _current


def decided(address: str | None, environment: Mapping[str, str], accounts: bool) -> Policy:
    """The policy of a server that listens at `address` (None: everywhere). BadKeys, NotRunnable."""
    given, where, made = _given(environment, local=accounts or is_loopback(address))
    signer = Signer(_secret(), given)
    if accounts:
        missing = [name for name in ACCOUNTS_NEED if importlib.util.find_spec(name) is None]
        if missing:
            raise NotRunnable(
                f"secrets.toml asks for accounts, which need what is not installed ({', '.join(missing)}): "
                'pip install "streamlit[auth]" -c constraints.txt, or take [auth] out of secrets.toml.'
            )
        return Policy("account", "Everybody signs in with OpenID Connect, as secrets.toml says.", given, signer)
    if not given:
        return Policy("nothing", "Open to this computer alone: no key is asked for.")
    told = f"Everybody is asked for a class key; {where} holds them"
    if made and sys.stdout.isatty():  # elsewhere it would get into a log
        told += ": " + ", ".join(f"{role} {key}" for role, key in given.items())
    return Policy("key", f"{told}.", given, signer)


def _given(environment: Mapping[str, str], *, local: bool) -> tuple[dict[str, str], str, bool]:
    """The keys, where they are from, and whether they were made just now. None are needed for who is `local`."""
    if environment.get(KEYS):
        return parse_keys(environment[KEYS]), f"the variable {KEYS}", False
    named = environment.get(KEYS_FILE)
    if local and not named:
        return {}, "", False
    path = Path(named) if named else database.folder() / _OWN_KEYS_FILE
    try:
        found, made = keys_in_file(path)
    except OSError as error:
        raise BadKeys(f"The class keys cannot be kept in {path}: {error.strerror}. "
                           f"Name another file in {KEYS_FILE}.") from None  # fmt: skip
    return found, str(path), made


def is_loopback(name: str | None) -> bool:
    """Whether only this computer itself has this address, or name."""
    if name in (None, "", "localhost"):
        return name == "localhost"
    try:
        found = ipaddress.ip_address(str(name).strip("[]"))
    except ValueError:
        return False
    mapped = found.ipv4_mapped if isinstance(found, ipaddress.IPv6Address) else None
    return (mapped or found).is_loopback


def _secret() -> bytes:
    """What signs cookies: kept, so that a restart signs nobody out."""
    path = database.folder() / _SECRET_FILE
    try:
        write_once(path, secrets.token_hex(32))
        return bytes.fromhex(path.read_text(encoding="utf-8"))
    except (OSError, ValueError):  # then a restart does
        return secrets.token_bytes(32)


def _has_accounts() -> bool:
    try:
        return "auth" in st.secrets
    except FileNotFoundError:
        return False


# By TLS the name says that only this host can have set it; browsers see to that.
COOKIE, COOKIE_BY_TLS = "kernel-ladder", "__Host-kernel-ladder"
_AGE_S = KEPT_DAYS * 24 * 3600  # the browser's name is known for longer than its key is good


def token_in_cookies(asks: Policy, cookies: Mapping[str, str]) -> Token | None:
    """The valid token among these cookies."""
    return next(filter(None, (asks.signer.read(cookies.get(name, "")) for name in (COOKIE_BY_TLS, COOKIE))), None)


def browser_in_cookies(asks: Policy, cookies: Mapping[str, str]) -> str | None:
    """The name of a browser that has been here, however long ago."""
    found = next(filter(None, (asks.signer.known(cookies.get(name, "")) for name in (COOKIE_BY_TLS, COOKIE))), None)
    return found.browser if found else None


def give_cookie(answer: Response, value: str, encrypted: bool) -> None:
    """Let the browser keep a token."""
    answer.set_cookie(COOKIE_BY_TLS if encrypted else COOKIE, value, max_age=_AGE_S, path="/", secure=encrypted,
                      httponly=True, samesite="lax")  # fmt: skip

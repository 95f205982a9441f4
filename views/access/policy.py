"""The access policy: class keys, roles and their rights, and the signed tokens that browsers keep as cookies."""

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

from engine.compile.confinement import check_confinement, missing_confinement
from engine.compile.limits import read_file
from engine.records import NotRunnable
from engine.service.limits import Limits
from engine.store import database
from engine.store.drafts import KEPT_DAYS
from engine.store.keeping import CLASS_KEYS, COOKIE_SECRET

LASTS_S = 30 * 86400.0  # ASVS 3.3.2, level 1


@dataclass(frozen=True)
class Token:
    """A signed-in browser. `browser`: its name, which is no secret; `issued`: the sign-in, in ms since 1970."""

    role: str
    browser: str
    issued: int


class Signer:
    """Issues and reads tokens. A token is void if its role's key has changed, or its browser has signed out."""

    def __init__(self, secret: bytes, keys: Mapping[str, str]) -> None:
        self._secret, self._keys = secret, keys
        self._void: dict[str, int] = {}  # browser -> the time up to which its tokens are void
        self._lock = threading.Lock()

    def issue(self, role: str, browser: str | None = None, now: float | None = None) -> str:
        """Return a token for a known browser, or for a new one."""
        # A sign-out may be of a time before the clock was set back.
        after = self._void.get(browser or "", 0) + 1
        issued = max(int(time.time() * 1000), after) if now is None else int(now * 1000)
        payload = f"{role}.{browser or secrets.token_hex(8)}.{issued}"
        return f"{payload}.{self._signature(role, payload)}"

    def read(self, text: str, now: float | None = None) -> Token | None:
        """Return the token, if it is valid."""
        token = self.known(text)
        if token is None or self._void.get(token.browser, 0) >= token.issued:
            return None
        age_s = (time.time() if now is None else now) - token.issued / 1000
        return token if abs(age_s) < LASTS_S else None  # of the future: the clock was set back since

    def known(self, text: str) -> Token | None:
        """Return the token, if this server issued it, even if it is void by now."""
        payload, _, signature = text.rpartition(".")
        role, _, rest = payload.partition(".")
        browser, _, issued = rest.partition(".")
        if role not in self._keys or not hmac.compare_digest(
            signature.encode(), self._signature(role, payload).encode()
        ):
            return None
        return Token(role, browser, int(issued))

    def revoke(self, token: Token) -> None:
        """Make all tokens of this browser void."""
        with self._lock:
            oldest = time.time() * 1000 - LASTS_S * 1000
            self._void = {name: at for name, at in self._void.items() if at > oldest}
            self._void[token.browser] = max(token.issued, self._void.get(token.browser, 0))

    def sign(self, purpose: str, payload: str) -> bytes:
        """Return the signature of a payload; one for another purpose differs."""
        key = hmac.digest(self._secret, purpose.encode(), "sha256")
        return hmac.digest(key, payload.encode(), "sha256")

    def _signature(self, role: str, payload: str) -> str:
        return base64.urlsafe_b64encode(self.sign(self._keys[role], payload)).decode().rstrip("=")


@dataclass(frozen=True)
class Role:
    """A role's rights. `goes_first`: its runs go before others while it presents; `prepares`: may warm up a ladder;
    `sees_students`: sees each student's progress; `sees_service`: sees the doctor's list, and /metrics and /readyz from
    another computer; `limits`: of one browser."""

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


KEYS, KEYS_FILE = "KERNEL_LADDER_KEYS", "KERNEL_LADDER_KEYS_FILE"  # environment variables
SHORTEST_KEY = 12
_LETTERS = "abcdefghjkmnpqrstuvwxyz23456789"  # without letters that look alike on a blackboard
_GROUPS, _IN_GROUP = 3, 5  # 15 letters of 31: 74 bits


class BadKeys(Exception):
    """The given keys cannot be used; the message says why."""


def parse_keys(text: str) -> dict[str, str]:
    """Return role -> key from "presenter=..." words; a line that begins with # is a comment. BadKeys."""
    lines = [line.strip() for line in text.splitlines()]
    words = re.split(r"[,\s]+", re.sub(r"\s*=\s*", "=", " ".join(line for line in lines if not line.startswith("#"))))
    keys: dict[str, str] = {}
    for word in filter(None, words):
        role, _, key = word.partition("=")
        if role not in ROLES:  # the message leaves the word out, as it may be a key
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
    """Return a new key for each role."""
    return {role: "-".join("".join(secrets.choice(_LETTERS) for _ in range(_IN_GROUP)) for _ in range(_GROUPS))
            for role in ROLES}  # fmt: skip


def keys_in_file(path: Path) -> tuple[dict[str, str], bool]:
    """Return the keys in a file, and whether the file was missing and has been made. BadKeys, OSError."""
    made = write_once(path, "".join(f"{role} = {key}\n" for role, key in generate_keys().items()))
    try:
        text, _ = read_file(path)  # of any editor: Notepad writes a mark, or UTF-16
    except NotRunnable as refused:
        raise BadKeys(str(refused)) from None
    return parse_keys(text), made


def write_once(path: Path, text: str) -> bool:
    """Write a file that only its owner can read, unless it exists; return whether it was written. OSError.

    Servers that start at the same moment, and a start after a power cut, find the whole file or none.
    """
    if path.exists():
        return False
    path.parent.mkdir(mode=0o700, parents=True, exist_ok=True)
    beside = path.with_name(f".{path.name}.{secrets.token_hex(4)}")
    try:
        with os.fdopen(os.open(beside, os.O_WRONLY | os.O_CREAT | os.O_EXCL, 0o600), "w", encoding="utf-8") as file:
            file.write(text)
            file.flush()
            os.fsync(file.fileno())
        try:
            os.link(beside, path)  # unlike a renamed file, it replaces none
        except FileExistsError:
            return False
        except OSError:  # a disk without links
            beside.replace(path)
    finally:
        beside.unlink(missing_ok=True)
    return True


def role_of_key(keys: Mapping[str, str], given: str) -> str | None:
    """Return the role of this key, or None, in the same time for every key."""
    digest = sha256(given.strip().encode()).digest()
    found = None
    for role, key in keys.items():
        if hmac.compare_digest(digest, sha256(key.encode()).digest()):
            found = role
    return found


ACCOUNTS_NEED = ("authlib", "httpx")  # packages that Streamlit's sign-in imports

_lock = threading.Lock()
_current: Policy | None = None


@dataclass(frozen=True)
class Policy:
    """The credentials that visitors must show. `asks`: nothing, a class key or an account; `keys`: role -> key; `said`:
    the line printed at the start."""

    asks: Literal["nothing", "key", "account"]
    said: str
    keys: Mapping[str, str] = field(default_factory=dict, repr=False)
    signer: Signer = field(default_factory=lambda: Signer(secrets.token_bytes(32), {}), repr=False)


def begin() -> None:
    """Print the policy and its weaknesses here. BadKeys, NotRunnable."""
    print("\n".join(filter(None, (current().said, missing_confinement()))), flush=True)


def current() -> Policy:
    """Return the policy, decided on the first call. BadKeys or NotRunnable on that call."""
    global _current
    with _lock:
        if _current is None:
            _current = decide_policy(st.get_option("server.address"), os.environ, _has_accounts())
        return _current


def decide_policy(address: str | None, environment: Mapping[str, str], accounts: bool) -> Policy:
    """Return the policy of a server that listens at `address` (None: everywhere). BadKeys, NotRunnable."""
    given, where, made = _find_keys(environment, local=accounts or is_loopback(address))
    signer = Signer(_secret(), given)
    if accounts or given:
        check_confinement(environment)
    if accounts:
        missing = [name for name in ACCOUNTS_NEED if importlib.util.find_spec(name) is None]
        if missing:
            raise NotRunnable(
                f"secrets.toml asks for accounts, which need packages that are not installed ({', '.join(missing)}): "
                'pip install "streamlit[auth]" -c constraints.txt, or take [auth] out of secrets.toml.'
            )
        return Policy("account", "Everybody signs in with OpenID Connect, as secrets.toml says.", given, signer)
    if not given:
        return Policy("nothing", "Open to this computer alone: no key is needed.", signer=signer)
    told = f"Visitors need a class key; {where} holds the keys"
    if made and sys.stdout.isatty():  # otherwise the keys would get into a log
        told += ": " + ", ".join(f"{role} {key}" for role, key in given.items())
    return Policy("key", f"{told}.", given, signer)


def _find_keys(environment: Mapping[str, str], *, local: bool) -> tuple[dict[str, str], str, bool]:
    """Return the keys, where they come from, and whether they have just been made; none for a `local` server."""
    if environment.get(KEYS):
        return parse_keys(environment[KEYS]), f"the variable {KEYS}", False
    named = environment.get(KEYS_FILE)
    if local and not named:
        return {}, "", False
    path = Path(named) if named else database.folder() / CLASS_KEYS
    try:
        found, made = keys_in_file(path)
    except OSError as error:
        raise BadKeys(f"The class keys cannot be kept in {path}: {error.strerror}. "
                           f"Name another file in {KEYS_FILE}.") from None  # fmt: skip
    return found, str(path), made


def is_loopback(name: str | None) -> bool:
    """Return whether this address or name means this computer alone."""
    if name in (None, "", "localhost"):
        return name == "localhost"
    try:
        found = ipaddress.ip_address(str(name).strip("[]"))
    except ValueError:
        return False
    mapped = found.ipv4_mapped if isinstance(found, ipaddress.IPv6Address) else None
    return (mapped or found).is_loopback


_SECRET_BYTES = 32


def _secret() -> bytes:
    """Return the secret that signs cookies, stored in a file so a restart signs nobody out."""
    path = database.folder() / COOKIE_SECRET
    try:
        write_once(path, secrets.token_hex(_SECRET_BYTES))
        found = bytes.fromhex(path.read_text(encoding="utf-8"))
    except (OSError, ValueError):
        found = b""
    # Without a whole file, a restart signs everybody out.
    return found if len(found) == _SECRET_BYTES else secrets.token_bytes(_SECRET_BYTES)


def _has_accounts() -> bool:
    try:
        return "auth" in st.secrets
    except FileNotFoundError:
        return False


# Browsers accept this name only from this host itself, by TLS.
COOKIE, COOKIE_BY_TLS = "kernel-ladder", "__Host-kernel-ladder"
_AGE_S = KEPT_DAYS * 24 * 3600  # the browser's name outlives its key


def token_in_cookies(asks: Policy, cookies: Mapping[str, str]) -> Token | None:
    """Return the valid token among these cookies."""
    return next(filter(None, (asks.signer.read(cookies.get(name, "")) for name in (COOKIE_BY_TLS, COOKIE))), None)


COMPILE = "compile"  # the purpose of a proof: the page shows this draft


def proof_of(purpose: str, payload: str) -> str:
    """Return a text by which a page proves to the server what the server has told it: its signature."""
    return base64.urlsafe_b64encode(current().signer.sign(purpose, payload)).decode().rstrip("=")


def browser_in_cookies(asks: Policy, cookies: Mapping[str, str]) -> str | None:
    """Return the name of a browser that has been here before."""
    found = next(filter(None, (asks.signer.known(cookies.get(name, "")) for name in (COOKIE_BY_TLS, COOKIE))), None)
    return found.browser if found else None


def give_cookie(answer: Response, value: str, encrypted: bool) -> None:
    """Give the browser a token as a cookie."""
    answer.set_cookie(COOKIE_BY_TLS if encrypted else COOKIE, value, max_age=_AGE_S, path="/", secure=encrypted,
                      httponly=True, samesite="lax")  # fmt: skip

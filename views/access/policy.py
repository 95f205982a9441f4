"""What this server asks of whoever comes: nothing on its own computer, a class key, or a sign-in with OpenID Connect.

policy.begin()         when the server starts: says it in one line
policy.current()       afterwards
"""

from __future__ import annotations

import importlib.util
import ipaddress
import os
import secrets
import sys
import threading
from collections.abc import Mapping
from dataclasses import dataclass, field
from pathlib import Path
from typing import Literal

import streamlit as st

from engine.records import NotRunnable
from engine.store import database
from views.access import keys
from views.access.tokens import Signer

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
    if environment.get(keys.KEYS):
        return keys.parsed(environment[keys.KEYS]), f"the variable {keys.KEYS}", False
    named = environment.get(keys.KEYS_FILE)
    if local and not named:
        return {}, "", False
    path = Path(named) if named else database.folder() / _OWN_KEYS_FILE
    try:
        found, made = keys.from_file(path)
    except OSError as error:
        raise keys.BadKeys(f"The class keys cannot be kept in {path}: {error.strerror}. "
                           f"Name another file in {keys.KEYS_FILE}.") from None  # fmt: skip
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
        keys.kept(path, secrets.token_hex(32))
        return bytes.fromhex(path.read_text(encoding="utf-8"))
    except (OSError, ValueError):  # then a restart does
        return secrets.token_bytes(32)


def _has_accounts() -> bool:
    try:
        return "auth" in st.secrets
    except FileNotFoundError:
        return False

"""The class keys: where they are from, what they must be, and which role somebody has who knows one.

presenter = hazel-nut...        in the file or the variable that names them, a line or a word each
"""

from __future__ import annotations

import hmac
import os
import re
import secrets
from collections.abc import Mapping
from hashlib import sha256
from pathlib import Path

from views.access.roles import ROLES

KEYS, KEYS_FILE = "KERNEL_LADDER_KEYS", "KERNEL_LADDER_KEYS_FILE"  # the variables
SHORTEST = 12
_LETTERS = "abcdefghjkmnpqrstuvwxyz23456789"  # nothing that is taken for something else on a blackboard
_GROUPS, _IN_GROUP = 3, 5  # 15 letters of 31: 74 bits


class BadKeys(Exception):
    """The keys that were given cannot be used, and why."""


def parsed(text: str) -> dict[str, str]:
    """Role -> key, of "presenter=..." words; a line may begin with # as a remark. BadKeys."""
    lines = [line.strip() for line in text.splitlines()]
    words = re.split(r"[,\s]+", re.sub(r"\s*=\s*", "=", " ".join(line for line in lines if not line.startswith("#"))))
    keys: dict[str, str] = {}
    for word in filter(None, words):
        role, _, key = word.partition("=")
        if role not in ROLES:  # and the word itself is not repeated: it may be a key
            raise BadKeys(f"A class key is given as ROLE=KEY, where ROLE is one of {', '.join(ROLES)}.")
        if len(key) < SHORTEST:
            raise BadKeys(f"The key of {role} is too short: a key has at least {SHORTEST} letters.")
        keys[role] = key
    if not keys:
        raise BadKeys(f"No class key is given: write ROLE=KEY, where ROLE is one of {', '.join(ROLES)}.")
    if len(set(keys.values())) < len(keys):
        raise BadKeys("Two roles have the same key: each needs its own.")
    return keys


def generated() -> dict[str, str]:
    """A new key for each role."""
    return {role: "-".join("".join(secrets.choice(_LETTERS) for _ in range(_IN_GROUP)) for _ in range(_GROUPS))
            for role in ROLES}  # fmt: skip


def from_file(path: Path) -> tuple[dict[str, str], bool]:
    """The keys in a file and whether it was made just now, as it was not there. BadKeys, OSError."""
    made = kept(path, "".join(f"{role} = {key}\n" for role, key in generated().items()))
    return parsed(path.read_text(encoding="utf-8")), made


def kept(path: Path, text: str) -> bool:
    """Write a file that only its owner can read, unless it is there already; whether it was written. OSError."""
    path.parent.mkdir(mode=0o700, parents=True, exist_ok=True)
    try:
        with os.fdopen(os.open(path, os.O_WRONLY | os.O_CREAT | os.O_EXCL, 0o600), "w", encoding="utf-8") as file:
            file.write(text)
    except FileExistsError:
        return False
    return True


def role_of(keys: Mapping[str, str], given: str) -> str | None:
    """The role that this key opens. It takes as long whichever key it is, or none."""
    digest = sha256(given.strip().encode()).digest()
    found = None
    for role, key in keys.items():
        if hmac.compare_digest(digest, sha256(key.encode()).digest()):
            found = role
    return found

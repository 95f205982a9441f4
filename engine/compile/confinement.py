"""Confine a process to a few folders with Landlock, and say so if this computer has none."""

from __future__ import annotations

import ctypes
import os
import struct
import sys
from collections.abc import Mapping, Sequence
from contextlib import suppress
from functools import lru_cache

from engine.records import NotRunnable

UNCONFINED = "KERNEL_LADDER_UNCONFINED"  # "1" serves others from a computer without Landlock
FIX = "Linux has it from 5.13 on, if the kernel's option lsm= names landlock."
# The numbers of Landlock's system calls are the same on every architecture.
_CREATE_RULESET, _ADD_RULE, _RESTRICT_SELF = 444, 445, 446
_ASK_VERSION = 1
_ALL_OF_VERSION_1 = (1 << 13) - 1  # execute, write, read, list, remove and make
_READ_FILE, _READ_FOLDER = 1 << 2, 1 << 3
_PATH_BENEATH = 1
_NO_NEW_PRIVILEGES = 38  # of prctl


@lru_cache(maxsize=1)
def missing_confinement() -> str | None:
    """Return a sentence if this computer cannot confine the compiler; None if it can."""
    if sys.platform == "linux":
        system = ctypes.CDLL(None, use_errno=True)
        if system.syscall(_CREATE_RULESET, None, 0, _ASK_VERSION) >= 1:
            return None
    return (
        "The compiler of students' texts is not confined to its headers, as this computer has no Landlock: only the "
        f"checks of each text keep it from other files. {FIX}"
    )


def check_confinement(environment: Mapping[str, str]) -> None:
    """Raise NotRunnable if the compiler of others' texts is not confined and the environment does not allow that."""
    missing = missing_confinement()
    if missing and environment.get(UNCONFINED) != "1":
        raise NotRunnable(f"{missing} To serve others all the same, set {UNCONFINED}=1.")


def confine(folders: Sequence[str]) -> bool:
    """Let this process open only files in `folders`, for reading. Returns False if this computer cannot confine it."""
    if sys.platform != "linux":
        return False
    system = ctypes.CDLL(None, use_errno=True)
    rules = system.syscall(_CREATE_RULESET, struct.pack("<Q", _ALL_OF_VERSION_1), 8, 0)
    if rules < 0:
        return False
    for folder in folders:
        with suppress(OSError):
            place = os.open(folder, os.O_PATH | os.O_CLOEXEC)
            rule = struct.pack("<Qi", _READ_FILE | _READ_FOLDER, place)
            system.syscall(_ADD_RULE, rules, _PATH_BENEATH, rule, 0)
            os.close(place)
    failed = system.prctl(_NO_NEW_PRIVILEGES, 1, 0, 0, 0) or system.syscall(_RESTRICT_SELF, rules, 0)
    os.close(rules)
    return not failed

"""Confine this process to some folders: the second wall behind `includes`, which looks at the text alone.

Linux's Landlock, which needs no rights: from then on nothing can be opened but what lies in those folders, whatever a
text makes the compiler do. A kernel that lacks it confines nothing, and says so.
"""

from __future__ import annotations

import ctypes
import os
import struct
import sys
from collections.abc import Sequence
from contextlib import suppress

_CREATE_RULESET, _ADD_RULE, _RESTRICT_SELF = 444, 445, 446  # the same numbers on every machine
_ALL_OF_VERSION_1 = (1 << 13) - 1  # execute, write, read, list, remove and make
_READ_FILE, _READ_FOLDER = 1 << 2, 1 << 3
_PATH_BENEATH = 1
_NO_NEW_PRIVILEGES = 38  # of prctl


def confine(folders: Sequence[str]) -> bool:
    """From now on this process opens only files in `folders`, to read. False: this computer cannot confine it."""
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

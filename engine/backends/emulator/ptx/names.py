"""What a student calls the things that PTX names: the C++ names behind the mangled ones."""

from __future__ import annotations

import re


def readable(name: str) -> str:
    """The C++ name of a variable inside a function: "_ZZ3sumE4part" -> "part"."""
    found = re.match(r"_ZZ.*?E(?:NKUlvE_clEvE)?(\d+)(\w+)$", name)
    if found:
        length, rest = int(found[1]), found[2]
        return rest[:length] or name
    found = re.match(r"_Z(\d+)(\w+)$", name) or re.match(r"_ZL(\d+)(\w+)$", name)
    return found[2][: int(found[1])] if found else re.sub(r"\$\d+$", "", name)

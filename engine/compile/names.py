"""C++ names of mangled symbols, as a student wrote them."""

from __future__ import annotations

import re


def readable(name: str) -> str:
    """Return the C++ name of a kernel or variable: "_ZZ3sumE4part" -> "part", "_Z3sumPf" -> "sum", "_ZN3own1fEv" ->
    "f"."""
    if name.startswith("_ZZ"):
        return _of_function(name) or name
    if name.startswith("_ZN"):
        return _last_of(name[3:]) or name
    found = re.match(r"_Z(\d+)(\w+)$", name) or re.match(r"_ZL(\d+)(\w+)$", name)
    return found[2][: int(found[1])] if found else re.sub(r"\$\d+$", "", name)


def _of_function(name: str) -> str:
    """Return the name of a function's own variable: what ends the name, but for a number among its namesakes."""
    for found in reversed(list(re.finditer(r"E(\d+)", name))):
        rest, length = name[found.end() :], int(found[1])
        if len(rest) >= length and re.fullmatch(r"(?:_?\$_?\d+|_\d+_?)?", rest[length:]):
            return rest[:length]
    return ""


def _last_of(nested: str) -> str:
    """Return the last of several length-prefixed names: "3own1fEv" -> "f"."""
    last = ""
    while found := re.match(r"(\d+)(\w*)", nested):
        length = int(found[1])
        last, nested = found[2][:length], found[2][length:]
    return last

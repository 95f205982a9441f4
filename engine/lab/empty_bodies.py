"""Conditions and loops of device code that end at a semicolon, which the compiler takes without a word.

empty_bodies("... if (i < n); a[i] = 1; ...") -> (CompilerWarning("this if ends at its semicolon: ...", 3),)
"""

from __future__ import annotations

import re
from collections.abc import Iterator

from engine.lab.marks import CompilerWarning
from engine.lab.top_level import closing_bracket, declarations, is_left_out, uncommented

_HEAD = re.compile(r"\b(if|for|while)\s*(?:constexpr\s*)?\(")
_EMPTY, _BLOCK, _ELSE = re.compile(r"\s*;"), re.compile(r"\s*\{"), re.compile(r"\s*else\b")


def empty_bodies(text: str) -> Iterator[CompilerWarning]:
    """Return a sentence for each `if` without a body, and for each loop without one that has a block below it."""
    code = uncommented(text)
    of_device = [one for one in declarations(text) if {"__global__", "__device__"} & {*one.words} and one.body]
    for found in (found for one in of_device for found in _HEAD.finditer(code, one.start, one.end)):
        end = closing_bracket(code, found.end())
        empty = _EMPTY.match(code, end) if end else None
        after_block = code[: found.start()].rstrip().endswith("}")  # do { ... } while (...);
        if empty is None or is_left_out(text, found.start()) or (found[1] == "while" and after_block):
            continue
        line = text.count("\n", 0, empty.end() - 1) + 1
        if found[1] == "if" and not _ELSE.match(code, empty.end()):
            yield CompilerWarning("this `if` ends at its semicolon: the statement below it runs in any case.", line)
        elif found[1] != "if" and _BLOCK.match(code, empty.end()):
            yield CompilerWarning(f"this `{found[1]}` ends at its semicolon: the block below it runs once.", line)

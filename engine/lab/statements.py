"""Statements of NumPy that say what becomes of an array, as one line of the whole array.

one_statement("m = x.max(); y[1:] = x[1:] - m") -> "y = assigned(y[1:], x[1:] - (x.max()))"
"""

from __future__ import annotations

import re

from engine.lab.formula import ADDED, ASSIGNED, LONGEST
from engine.lab.top_level import parts
from engine.records import NotRunnable

_UPDATED = re.compile(r"\s*(\w+)\s*(\*\*|//|<<|>>|[-+*/%@&|^])=(?!=)(.+)", re.DOTALL)
_PART = re.compile(r"\s*(\w+)\s*(\[.{1,200}?\])\s*=(?!=)(.+)", re.DOTALL)
_ADDED_AT = re.compile(r"\s*np\.add\.at\s*\(\s*(\w+)\s*,(.+)\)\s*", re.DOTALL)


def one_statement(words: str) -> str:
    """Return the last statement with the values of the names that the others before it set. NotRunnable: one of several
    sets no name."""
    known = dict[str, str]()
    statements = _statements(words)
    for statement in statements:
        words = _of_whole_array(statement)
        name, equals, line = words.partition("=")
        if not equals or not name.strip().isidentifier():
            if len(statements) == 1:
                return words
            raise NotRunnable(f"{statement.strip()!r} sets no name: write statements such as s = x + 1; y = s * 2.")
        if known:
            names = rf"(?<![\w.])({'|'.join(known)})\b(?!\s*=(?!=))"
            line = re.sub(names, lambda found: f"({known[found[1]]})", line)
        known[name.strip()] = line.strip()
        words = f"{name.strip()} = {line.strip()}"
        if len(line) > LONGEST:  # which is refused; each statement may double it
            return words
    return words


def _statements(words: str) -> list[str]:
    """Split a text at the semicolons and line ends outside all brackets."""
    found, depth = [""], 0
    for letter in words:
        depth += (letter in "([{") - (letter in ")]}")
        if letter in ";\n" and depth <= 0:
            found.append("")
        else:
            found[-1] += " " if letter == "\n" else letter
    return [one for one in found if one.strip()]


def _of_whole_array(words: str) -> str:
    """Return a statement that changes an array as the line of the whole array."""
    if updated := _UPDATED.fullmatch(words):
        name, operator, line = updated.groups()
        return f"{name} = {name} {operator} ({line.strip()})"
    if part := _PART.fullmatch(words):
        name, at, line = part.groups()
        return f"{name} = {ASSIGNED}({name}{at}, {line.strip()})"
    added = _ADDED_AT.fullmatch(words)
    given = parts(added[2]) if added else []
    if added is None or len(given) != 2:
        return words
    at, numbers = (one.strip() for one in given)
    return f"{added[1]} = {ADDED}({added[1]}[{at}], {numbers})"

"""The declarations of a C++ text, one after the other, without understanding them: where each starts and ends."""

from __future__ import annotations

import re
from dataclasses import dataclass, replace

# What is one piece whatever stands inside it. Identifiers and numbers are among them, as quotes follow both. What is
# not closed ends with the line or the text: to look for its end from every place in it would take the text's square.
_PIECE = re.compile(
    r"""(?P<comment>//(?:\\\n|[^\n])*|/\*.*?(?:\*/|\Z))"""
    r"""|(?P<directive>^[ \t]*(?:\#|%:)(?:\\\n|/\*.*?(?:\*/|\Z)|//[^\n]*|[^\n])*)"""
    r"""|(?P<text>(?:u8|u|U|L)?R"(?P<delimiter>[^()\\\s]{0,16})\(.*?(?:\)(?P=delimiter)"|\Z)"""
    r"""|(?:u8|u|U|L)?"(?:\\.|[^"\\\n])*(?:"|\\?\Z|$)|(?:u8|u|U|L)?'(?:\\.|[^'\\\n])*(?:'|\\?\Z|$))"""
    r"""|(?P<word>[A-Za-z_]\w*|\.?\d(?:'?[\w.])*)|(?P<sign>[{}();=<>])""",
    re.DOTALL | re.MULTILINE,
)
_OPENED = ("namespace", "extern")  # what a brace after these opens holds declarations itself
_QUALIFIED = (
    "__align__",
    "alignas",
    "__attribute__",
    "__declspec",
    "decltype",
)  # words with brackets that call nothing
_TYPES = frozenset(("struct", "class", "union", "enum", "using", "typedef", "namespace"))
_ACCESS = re.compile(r"\b(?:public|private|protected)\s*:(?!:)")


@dataclass(frozen=True)
class Declaration:
    """A piece of a text from `start` to `end`. `words`: its identifiers outside braces; `called`: it has round brackets
    there; `body`: it ends with one in braces, as a function does."""

    start: int
    end: int
    words: tuple[str, ...]
    called: bool
    body: bool

    @property
    def kind(self) -> str:
        """What it declares: "type", "function" (with a body, or only announced) or "variable"."""
        if _TYPES & set(self.words[:2]) or (
            self.words[:1] == ("template",) and _TYPES & set(self.words) and not self.called
        ):
            return "type"
        return "function" if self.called else "variable"


def declarations(text: str) -> list[Declaration]:
    """Those of all namespaces and linkage blocks, in order."""
    made: list[Declaration] = []
    words: list[str] = []
    start, called, assigned = -1, False, False
    depth, rounds = 0, 0
    branches: list[tuple[int, int]] = []  # of each open #if: where it started
    for piece in _PIECE.finditer(text):
        if piece["directive"]:
            depth, rounds = _in_branch(piece["directive"], branches, depth, rounds)
        if piece["directive"] or piece["comment"]:
            continue
        word, sign = piece["word"], piece["sign"]
        if start < 0 and sign not in ("}", ";"):
            start, words, called, assigned = piece.start(), [], False, False
        if depth == 0 and word:
            words.append(word)
        match sign:
            case "(":
                names = bool(words) and words[-1] not in _QUALIFIED
                called = called or (depth == rounds == 0 and not assigned and names)
                rounds += 1
            case ")":
                rounds = max(0, rounds - 1)
            case "=" if depth == rounds == 0 and words[-1:] != ["operator"]:
                assigned = True
            case "{" if depth == 0 and rounds == 0 and words[:1] and words[0] in _OPENED and not called:
                start = -1  # a namespace: what follows are declarations again
            case "{":
                depth += 1
            case "}" if depth:
                depth -= 1
                if depth == rounds == 0 and called and not assigned:
                    made.append(Declaration(start, piece.end(), tuple(words), True, True))
                    start = -1
            case ";" if depth == rounds == 0 and start >= 0:
                made.append(Declaration(start, piece.end(), tuple(words), called, False))
                start = -1
    if start >= 0:
        made.append(Declaration(start, len(text), tuple(words), called, depth > 0))
    return made


def members(text: str, one: Declaration) -> list[Declaration]:
    """What the type `one` declares in its braces."""
    opened = next((found.end() for found in _PIECE.finditer(text, one.start, one.end) if found["sign"] == "{"), one.end)
    inside = _ACCESS.sub(lambda found: " " * len(found[0]), text[opened : one.end])
    found = (replace(own, start=own.start + opened, end=own.end + opened) for own in declarations(inside))
    return [replace(own, start=own.start - 1) if text[own.start - 1] == "~" else own for own in found]


def _in_branch(directive: str, branches: list[tuple[int, int]], depth: int, rounds: int) -> tuple[int, int]:
    """How deep the text is after a line of the preprocessor: every branch of an #if starts where the #if stands."""
    words = re.findall(r"\w+", directive)[:1]
    if words in (["if"], ["ifdef"], ["ifndef"]):
        branches.append((depth, rounds))
    elif words in (["else"], ["elif"]) and branches:
        return branches[-1]
    elif words == ["endif"] and branches:
        branches.pop()
    return depth, rounds


def blanked(text: str, start: int, end: int) -> str:
    """`text` without a piece of it: spaces in its place, so that lines and columns stay; its directives stay, too."""
    piece = text[start:end]
    kept = [(found.start(), found.end()) for found in _PIECE.finditer(piece) if found["directive"]]
    made, at = [], 0
    for first, last in [*kept, (len(piece), len(piece))]:
        made += [re.sub(r"[^\n]", " ", piece[at:first]), piece[first:last]]
        at = last
    return text[:start] + "".join(made) + text[end:]


def directives(text: str) -> list[tuple[int, int]]:
    """Where the preprocessor's lines start and end."""
    return [(found.start(), found.end()) for found in _PIECE.finditer(text) if found["directive"]]

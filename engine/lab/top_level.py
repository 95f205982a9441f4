"""Split a C++ text into its declarations without parsing them: find where each starts and ends."""

from __future__ import annotations

import operator
import re
from collections.abc import Callable, Mapping
from dataclasses import dataclass, replace
from functools import lru_cache

# Tokens that are one piece whatever they contain. Identifiers and numbers are among them, because quotes follow both.
# An unclosed token ends with the line or the text, because a search from every index would take quadratic time.
_PIECE = re.compile(
    r"""(?P<comment>//(?:\\\n|[^\n])*|/\*.*?(?:\*/|\Z))"""
    r"""|(?P<directive>^[ \t]*(?:\#|%:)(?:\\\n|/\*.*?(?:\*/|\Z)|//[^\n]*|[^\n])*)"""
    r"""|(?P<text>(?:u8|u|U|L)?R"(?P<delimiter>[^()\\\s]{0,16})\(.*?(?:\)(?P=delimiter)"|\Z)"""
    r"""|(?:u8|u|U|L)?"(?:\\.|[^"\\\n])*(?:"|\\?\Z|$)|(?:u8|u|U|L)?'(?:\\.|[^'\\\n])*(?:'|\\?\Z|$))"""
    r"""|(?P<word>[A-Za-z_]\w*|\.?\d(?:'?[\w.])*)|(?P<sign>[{}();=<>])""",
    re.DOTALL | re.MULTILINE,
)
_SHIFT = re.compile(r"(?<!<)<<(?!<)")
_COMMENT, _WHOLE = re.compile(r"//[^\n]*|/\*.*?(?:\*/|\Z)", re.DOTALL), re.compile(r".+", re.DOTALL)
_OPENED = ("namespace", "extern")  # a brace after these words holds declarations
_QUALIFIED = (
    "__align__",
    "alignas",
    "__attribute__",
    "__declspec",
    "decltype",
)  # words with parentheses that are no calls
_TYPES = frozenset(("struct", "class", "union", "enum", "using", "typedef", "namespace"))
_TAGS = frozenset(("struct", "class", "union", "enum"))
_SPECIFIER = re.compile(r"__(?:device|global|host)__")
_DEFINED = re.compile(r"^[ \t]*#[ \t]*define[ \t]+(\w+)(?:\(([^()\n]{0,200})\))?[ \t]*((?:\\\n|[^\n])*)", re.MULTILINE)
_DIRECTIVE = re.compile(r"(?:#|%:) ?(\w+) ?(.*)")
EXPLICIT = re.compile(r"template\s+(?=\w)")  # the begin of an explicit instance
_PRAGMA = re.compile(r"\s*(?:#|%:)\s*pragma\b")
_COMPARED = re.compile(r"(!?) ?\(? ?(defined)? ?\(? ?(\w+) ?\)? ?(?:(==|!=|<=?|>=?) ?(\w+))? ?\)?")
_SIGNS: dict[str, Callable[[int, int], bool]] = {
    "==": operator.eq, "!=": operator.ne, "<": operator.lt, "<=": operator.le, ">": operator.gt, ">=": operator.ge,
}  # fmt: skip
_LONGEST_HEAD = 4096  # characters
_MOST_LAYERS = 4  # of macros that use others
_MOST_EXPANDED = 64  # uses of a macro
_ACCESS = re.compile(r"\b(?:public|private|protected)\s*:(?!:)")


@dataclass(frozen=True)
class Declaration:
    """A piece of a text from `start` to `end`. `words`: its identifiers outside braces; `called`: it has parentheses
    there.

    `body`: it ends with braces, as a function does; `scope`: its namespaces, "a::b".
    """

    start: int
    end: int
    words: tuple[str, ...]
    called: bool
    body: bool
    scope: str = ""

    @property
    def kind(self) -> str:
        """What it declares: "type", "function" (with or without a body) or "variable"."""
        named = _TYPES & set(self.words[:2])
        if (
            (named and not (named <= _TAGS and self.called))
            or (  # struct P *make() is a function
                self.words[:1] == ("template",) and _TYPES & set(self.words) and not self.called
            )
        ):
            return "type"
        return "function" if self.called else "variable"


_MADE_INSTANCE = re.compile(r"(?:\\\n|\s)*template\s(?!\s*<)[^{]*;(?:\\\n|\s)*\Z")  # in the body of a macro


@lru_cache(maxsize=32)  # the form and the checks ask about the same few texts dozens of times
def declarations(text: str) -> tuple[Declaration, ...]:
    """Return the declarations of all namespaces and linkage blocks, in order.

    A macro of the text counts as the words that it stands for: `#define HD __host__ __device__`.
    """
    defined = _DEFINED.findall(text)
    meant: dict[str, tuple[str, ...]] = {}
    for name, _, body in defined:  # in one branch of an #if often as nothing
        meant[name] = (*meant.get(name, ()), *_SPECIFIER.findall(body))
    whole = {name for name, _, body in defined if (meant[name] and "{" in body) or _MADE_INSTANCE.match(body)}
    return tuple(
        replace(one, words=(*one.words, *(word for name in one.words for word in meant.get(name, ()))))
        for one in _declarations(text, whole)
    )


def _declarations(text: str, whole: set[str]) -> list[Declaration]:
    """`whole`: macros that make a function with its body, so a use of one is a declaration and needs no semicolon."""
    made: list[Declaration] = []
    words: list[str] = []
    start, called, assigned = -1, False, False
    depth, rounds = 0, 0
    outside = 0  # the round brackets that are open around a body: those that it leaves open end with it
    closed = -1  # the end of the last braces of a declaration
    scopes: list[str] = []
    branches: list[tuple[int, int]] = []  # the start of each open #if
    head = 0  # the end of a template's own parameters, whose = and parentheses declare nothing
    for piece in _PIECE.finditer(text):
        if piece["directive"]:
            depth, rounds = _in_branch(piece["directive"], branches, depth, rounds)
        if piece["directive"] or piece["comment"]:
            continue
        word, sign = piece["word"], piece["sign"]
        if word == "__global__" and depth == rounds == 0 and 0 <= start < closed and not called:  # a type without its ;
            made.append(Declaration(start, closed, tuple(words), False, False, "::".join(filter(None, scopes))))
            start = -1
        if start < 0 and sign not in ("}", ";"):
            start, words, called, assigned = piece.start(), [], False, False
        if piece.start() < head:
            continue
        if depth == 0 and word:
            words.append(word)
        if sign == "<" and depth == rounds == 0 and words[-1:] == ["template"]:
            head = closing(text, piece.start())
        match sign:
            case "(":
                names = bool(words) and words[-1] not in _QUALIFIED and not _TAGS & set(words[-2:-1])  # an attribute
                called = called or (depth == rounds == 0 and not assigned and names)
                rounds += 1
            case ")":
                rounds = max(0, rounds - 1)
                if depth == rounds == 0 and words[:1] and words[0] in whole:
                    made.append(
                        Declaration(start, piece.end(), tuple(words), True, True, "::".join(filter(None, scopes)))
                    )
                    start = -1
            case "=" if depth == rounds == 0 and words[-1:] != ["operator"]:
                assigned = True
            case "{" if depth == 0 and rounds == 0 and words[:1] and words[0] in _OPENED and not called:
                scopes.append("::".join(words[1:]) if words[0] == "namespace" else "")
                start = -1  # declarations follow again
            case "}" if depth == rounds == 0 and scopes:
                if start >= 0:  # the use of a macro without a semicolon
                    made.append(
                        Declaration(start, piece.start(), tuple(words), called, False, "::".join(filter(None, scopes)))
                    )
                    start = -1
                scopes.pop()
            case "{":
                outside = rounds if depth == 0 else outside
                depth += 1
            case "}" if depth:
                depth -= 1
                rounds = rounds if depth else outside
                closed = closed if depth else piece.end()
                if depth == rounds == 0 and called and not assigned:
                    made.append(
                        Declaration(start, piece.end(), tuple(words), True, True, "::".join(filter(None, scopes)))
                    )
                    start = -1
            case ";" if depth == rounds == 0 and start >= 0:
                made.append(
                    Declaration(start, piece.end(), tuple(words), called, False, "::".join(filter(None, scopes)))
                )
                start = -1
    if start >= 0:
        made.append(Declaration(start, len(text), tuple(words), called, depth > 0, "::".join(filter(None, scopes))))
    return made


def members(text: str, one: Declaration) -> list[Declaration]:
    """Return the declarations in the braces of the type `one`."""
    opened = next((found.end() for found in _PIECE.finditer(text, one.start, one.end) if found["sign"] == "{"), one.end)
    inside = _ACCESS.sub(lambda found: " " * len(found[0]), text[opened : one.end])
    found = (replace(own, start=own.start + opened, end=own.end + opened) for own in declarations(inside))
    return [replace(own, start=own.start - 1) if text[own.start - 1] == "~" else own for own in found]


def body_start(text: str, one: Declaration) -> int:
    """Return the index of the brace that opens the body of the function `one`."""
    rounds = 0
    for piece in _PIECE.finditer(text, after_template(text, one), one.end):
        rounds += (piece["sign"] == "(") - (piece["sign"] == ")")
        if piece["sign"] == "{" and not rounds:
            return piece.start()
    return one.end - 1


def closing(text: str, place: int) -> int:
    """Return the end of the template brackets that open at `place`; `place` itself if they do not end nearby."""
    angles = rounds = 0
    for piece in _PIECE.finditer(text, place, place + _LONGEST_HEAD):
        sign = piece["sign"] or ""
        rounds += (sign in ("(", "{")) - (sign in (")", "}"))
        if rounds == 0 and text[piece.start() - 1 : piece.start()] != "-":
            angles += (sign == "<") - (sign == ">")
        if angles == 0 or rounds < 0 or sign == ";":
            return piece.end() if angles == 0 else place
    return place


def _in_branch(directive: str, branches: list[tuple[int, int]], depth: int, rounds: int) -> tuple[int, int]:
    """Return the brace depth after a preprocessor line: every branch of an #if starts at the depth of the #if."""
    words = re.findall(r"\w+", directive)[:1]
    if words in (["if"], ["ifdef"], ["ifndef"]):
        branches.append((depth, rounds))
    elif words in (["else"], ["elif"]) and branches:
        return branches[-1]
    elif words == ["endif"] and branches:
        branches.pop()
    return depth, rounds


def open_branch(text: str, place: int) -> tuple[int, str] | None:
    """Return line and text of the #if, or the #else, around an index that is not taken as far as the text tells; None:
    there is none."""
    opened = _open_branches(text, place)
    surest = [one for one in opened if one[2] is False] or [one for one in opened if one[2] is None] or opened
    return surest[-1][:2] if surest else None


def is_left_out(text: str, place: int) -> bool:
    """Return whether an #if around an index leaves it out for certain."""
    return any(taken is False for _, _, taken in _open_branches(text, place))


def _open_branches(text: str, place: int) -> list[tuple[int, str, bool | None]]:
    """Return line and text of each #if or #else around an index, and whether it is taken; None: the text does not
    tell."""
    opened: list[tuple[int, str, bool | None]] = []
    before: list[bool | None] = []  # whether an earlier branch of each is taken
    known: dict[str, str] = {}
    for start, end in directives(text):
        if start > place:
            break
        written = " ".join(uncommented(text[start:end]).split())
        found = _DIRECTIVE.match(written)
        word, rest = (found[1], found[2]) if found else ("", "")
        line = text.count("\n", 0, start) + 1
        if word in ("define", "undef"):
            name, _, value = rest.partition(" ")
            known.pop(name, None) if word == "undef" else known.update({name: value.strip("() ")})
        elif word in ("if", "ifdef", "ifndef"):
            asked = rest if word == "if" else f"{'!' * (word == 'ifndef')}defined {rest}"
            opened.append((line, written, _condition(asked, known)))
            before.append(False)
        elif word in ("else", "elif") and opened:
            last = opened.pop()[2]
            before[-1] = True if True in (last, before[-1]) else None if None in (last, before[-1]) else False
            own = _condition(rest, known) if word == "elif" else True
            own = own if before[-1] is False or own is False else None
            opened.append((line, written, False if before[-1] else own))
        elif word == "endif" and opened:
            opened.pop()
            before.pop()
    return opened


def _condition(asked: str, known: Mapping[str, str]) -> bool | None:
    """Return the value of a number, a macro, `defined` or a comparison of two; None: the text does not tell. A name
    without a definition counts as undefined, unless the compiler or a header may define it."""
    found = _COMPARED.fullmatch(asked.strip())
    if found is None:
        return None
    no, defined, name, sign, other = found.groups()
    foreign = not name.isdigit() and name not in known and re.match("_|CUDA|CUB|THRUST|WIN|NV", name) is not None
    left, right = (_number(word, known) for word in (name, other or "0"))
    if foreign or (defined and sign):
        return None
    if defined:
        return (name in known) != bool(no)
    return None if left is None or right is None else _SIGNS[sign or "!="](left, right) != bool(no)


def _number(word: str, known: Mapping[str, str]) -> int | None:
    value = known.get(word, "0") if not word.isdigit() else word
    return int(value) if value.isdigit() else None


def blanked(text: str, start: int, end: int) -> str:
    """Blank a piece of `text` with spaces, so lines and columns stay. Its directives stay too, but for pragmas, which
    would warn that their statement is gone."""
    piece = text[start:end]
    every = (found for found in _PIECE.finditer(piece) if found["directive"])
    kept = [(found.start(), found.end()) for found in every if not _PRAGMA.match(found["directive"])]
    made, at = [], 0
    for first, last in [*kept, (len(piece), len(piece))]:
        made += [re.sub(r"[^\n]", " ", piece[at:first]), piece[first:last]]
        at = last
    return text[:start] + "".join(made) + text[end:]


def directives(text: str) -> list[tuple[int, int]]:
    """Return where each preprocessor line starts and ends."""
    return [(found.start(), found.end()) for found in _PIECE.finditer(text) if found["directive"]]


@lru_cache(maxsize=64)
def uncommented(text: str) -> str:
    """Blank the comments and quoted texts of `text` with spaces."""
    gone = (found for found in _PIECE.finditer(text) if found["comment"] or found["text"] or found["directive"])
    made, at = [], 0
    for found in gone:
        inside = _COMMENT if found["directive"] else _WHOLE
        made += [text[at : found.start()], inside.sub(lambda piece: re.sub(r"[^\n]", " ", piece[0]), found[0])]
        at = found.end()
    return "".join([*made, text[at:]])


def template_parameters(text: str, one: Declaration) -> list[str]:
    """Return the declaration's template parameters as written; none if it is no template."""
    end = after_template(text, one)
    written = uncommented(text[one.start : end])
    return parts(written[written.index("<") + 1 : -1]) if written else []


def after_template(text: str, one: Declaration) -> int:
    """Return the index after the declaration's template parameters; an explicit instance has none."""
    templated = one.words[:1] == ("template",) and not EXPLICIT.match(text, one.start)
    opened = text.find("<", one.start, one.end) if templated else -1
    end = closing(text, opened) if opened >= 0 else opened
    return end if end > opened else one.start


def expanded(text: str, wanted: str, whole: str) -> str:
    """Expand in `text` the macros with parameters that `whole` defines, if `wanted` is in their body, and the macros
    that use these."""
    macros = {name: (given, body) for name, given, body in _DEFINED.findall(whole) if given}
    layers = [[name for name, (_, body) in macros.items() if wanted in body]]
    while layers[-1] and len(layers) < _MOST_LAYERS:
        inner = re.compile(rf"\b(?:{'|'.join(layers[-1])})\b")
        given_them = set(re.findall(rf"\b(\w+)\s*\(\s*{inner.pattern}", text))  # SIZES(RUN), which makes RUN(4) RUN(8)
        outer = (name for name, (_, body) in macros.items() if inner.search(body) or name in given_them)
        layers.append([name for name in outer if all(name not in layer for layer in layers)])
    for name in (name for layer in reversed(layers) for name in layer):
        given, body = macros[name]
        names = [each.strip() for each in given.split(",")]
        for found in list(re.finditer(rf"(?<![\w.]){name}\s*\(", text))[:_MOST_EXPANDED][::-1]:
            end = closing_bracket(text, found.end())
            if text.rfind("\n", 0, found.start()) < text.rfind("#", 0, found.start()) or not end:
                continue  # the definition itself, or an open bracket
            passed = [each.strip() for each in parts(text[found.end() : end - 1])]
            meant = dict(zip(names, passed, strict=False)) | {"__VA_ARGS__": ", ".join(passed[len(names) - 1 :])}
            made = re.sub(r"\w+", lambda word, meant=meant: meant.get(word[0], word[0]), body.replace("\\\n", " "))  # type: ignore[misc]
            text = text[: found.start()] + re.sub(r"\s*##\s*", "", made) + text[end:]
    return text


def closing_bracket(text: str, place: int) -> int:
    """Return the end of the round brackets that are open at `place`; 0 if they do not end nearby."""
    depth = 1
    for piece in _PIECE.finditer(text, place, place + _LONGEST_HEAD):
        depth += (piece["sign"] == "(") - (piece["sign"] == ")")
        if not depth:
            return piece.end()
    return 0


def parts(inside: str) -> list[str]:
    """Split a text at the commas outside all brackets; a shift is none, nor is an arrow."""
    found, opened, start, shifts = [], list[str](), 0, {one.start() for one in _SHIFT.finditer(inside)}
    shifts |= {place + 1 for place in shifts}
    for place, letter in enumerate(inside):
        if letter in "(<[{" and place not in shifts:
            opened.append(letter)
        elif letter in ")]}":  # a < that is still open compares
            while opened and opened.pop() == "<":
                pass
        elif letter == ">" and opened[-1:] == ["<"] and inside[place - 1 : place] != "-":
            opened.pop()
        if letter == "," and not opened:
            found.append(inside[start:place])
            start = place + 1
    return [part for part in [*found, inside[start:]] if part.strip() and part.strip() != "void"]

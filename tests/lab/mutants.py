"""Small wrong changes of right kernels, made by rules from the source text.

mutants_of(text) -> every change that a rule allows, in the order of the rules and of the text
"""

from __future__ import annotations

import re
from collections.abc import Callable, Iterator
from dataclasses import dataclass

Change = tuple[int, int, str]  # from, to, new text


@dataclass(frozen=True)
class Mutant:
    """`rule`: its name; `line`: of the change, from 1; `text`: the changed source."""

    rule: str
    line: int
    text: str


def mutants_of(text: str) -> list[Mutant]:
    """Return the mutants of a source, from its first kernel on."""
    code = _without_comments(text)
    first = code.find("__global__")
    made: dict[str, Mutant] = {}
    for rule, changes in RULES.items():
        for start, end, new in changes(code):
            if start >= first and code[start:end] != new:
                changed = text[:start] + new + text[end:]
                made.setdefault(changed, Mutant(rule, code.count("\n", 0, start) + 1, changed))
    return list(made.values())


def _without_comments(text: str) -> str:
    """Return the text with blanks in place of comments, strings and preprocessor lines."""
    pattern = r"//[^\n]*|/\*.*?\*/|\"(?:\\.|[^\"\n])*\"|^[ \t]*#[^\n]*"
    return re.sub(pattern, lambda m: re.sub(r"[^\n]", " ", m[0]), text, flags=re.DOTALL | re.MULTILINE)


def _each(pattern: str, *new: str | Callable[[re.Match[str]], str]) -> Callable[[str], Iterator[Change]]:
    """Return a rule that replaces the last group of each match, or the whole match without one."""

    def changes(code: str) -> Iterator[Change]:
        for found in re.finditer(pattern, code):
            group = found.re.groups
            for one in new:
                yield found.start(group), found.end(group), one if isinstance(one, str) else one(found)

    return changes


def _other_array(code: str) -> Iterator[Change]:
    head = re.search(r"__global__[^(]*\(([^)]*)\)", code)
    named = re.findall(r"\*\s*(?:__restrict__\s*)?(\w+)", head[1] if head else "")
    shared = re.findall(r"__shared__\s+[^;=]*?(\w+)\s*\[", code)
    for names in (named, shared):
        for found in re.finditer(r"\b(\w+)\[", code):
            declared = re.search(r"(?:__shared__[^;]*|\*\s*)$", code[max(0, found.start() - 60) : found.start()])
            if found[1] in names and not declared:
                yield from ((found.start(1), found.end(1), name) for name in names if name != found[1])


def _swapped_indices(code: str) -> Iterator[Change]:
    for found in re.finditer(r"(?<!__shared__)\b\w+(\[([^\[\]]+)\]\[([^\[\]]+)\])", code):
        yield found.start(1), found.end(1), f"[{found[3]}][{found[2]}]"


def _guard(code: str) -> Iterator[Change]:
    for found in re.finditer(r"\bif \(((?:[^()]|\([^()]*\))*)\)", code):
        yield found.start(1), found.end(1), "true"


def _swapped_arguments(code: str) -> Iterator[Change]:
    for found in re.finditer(r"\w\(((&?[\w.]+(?:\[\w+\])?), (&?[\w.]+(?:\[\w+\])?))\)", code):
        yield found.start(1), found.end(1), f"{found[3]}, {found[2]}"


_TERM = r"(?<=[\w)\]]) %s (?=[\w(&*-])"
RULES: dict[str, Callable[[str], Iterator[Change]]] = {
    "other array": _other_array,
    "swapped indices": _swapped_indices,
    "no guard": _guard,
    "index one further": _each(r"\w\[(?![^\[\]]*\]\s*[;,]\s*$)([^\[\]]+)(?=\])", lambda m: f"{m[m.re.groups]} + 1"),
    "plus for minus": _each(_TERM % "-", " + "),
    "minus for plus": _each(_TERM % r"\+", " - "),
    "plus for times": _each(_TERM % r"\*", " + "),
    "set for add": _each(r"(?<=[\w\])] )(\+=)", "="),
    "subtract for add": _each(r"(?<=[\w\])] )(\+=)", "-="),
    "less or equal": _each(r" (<)(?= )", "<="),
    "less": _each(r" (<=)(?= )", "<"),
    "greater or equal": _each(r" (>)(?= )", ">="),
    "greater": _each(r" (>=)(?= )", ">"),
    "bound one less": _each(r"(?:<|<=|>|>=) (\w+)(?=[;)&| ])", lambda m: f"{m[1]} - 1"),
    "bound one more": _each(r"(?:<|<=|>|>=) (\w+)(?=[;)&| ])", lambda m: f"{m[1]} + 1"),
    "other start": _each(r"\b\w+ = (0(?:\.0f?)?|T\(0\))(?=[;,])", "1"),
    "start from 0": _each(r"\b\w+ = (\w+\[0\])(?=;)", "0"),
    "start elsewhere": _each(r"(?:for \([^=;]*|\bint \w+) = ([^;,]+)(?=[;,])", lambda m: f"{m[1]} + 1"),
    "no barrier": _each(r"(__sync(?:threads|warp)\(\);|\b\w+\.sync\(\);)", ";"),
    "grid for block": _each(r"\b(blockDim)\b", "gridDim"),
    "block for grid": _each(r"\b(gridDim)\b", "blockDim"),
    "block for thread": _each(r"\b(threadIdx)\b", "blockIdx"),
    "thread for block": _each(r"\b(blockIdx)\b", "threadIdx"),
    "y for x": _each(r"\b(?:thread|block)(?:Idx|Dim)\.(x)\b", "y"),
    "x for y": _each(r"\b(?:thread|block)(?:Idx|Dim)\.(y)\b", "x"),
    "a quarter": _each(r"/=? (2)\b", "4"),
    "two steps": _each(r">>= (1)\b", "2"),
    "min for max": _each(r"\b(max|Max)(?=\()", "min"),
    "max for min": _each(r"\b(min|Min)(?=\()", "max"),
    "half a warp": _each(r"\b(32)\b", "16"),
    "index one less": _each(r"\w\[(?![^\[\]]*\]\s*[;,]\s*$)([^\[\]]+)(?=\])", lambda m: f"{m[m.re.groups]} - 1"),
    "swapped arguments": _swapped_arguments,
    "no statement": _each(r"(?m)^[ \t]*(\w[\w.]*(?:\[[^;=]*\])* (?:[-+*|&^]|<<|>>)?= [^;{}]*;)", ";"),
    "no call": _each(r"(?m)^[ \t]*(?:if \([^;{}]*\) )?(\w+\([^;{}]*\);)", ";"),
    "other constant": _each(r"(?<![\w.])(\d+)(?![\w.])", lambda m: str(int(m[1]) + 1)),
    "or for and": _each(r" (&&) ", "||"),
    "and for or": _each(r" (\|\|) ", "&&"),
    "opposite": _each(r"\bif \(((?:[^()]|\([^()]*\))*)\)", lambda m: f"!({m[1]})"),
    "right for left": _each(r"(?<=\w) (<<=?) ", lambda m: m[1].replace("<<", ">>")),
    "equal": _each(r" (!=) ", "=="),
    "not equal": _each(r" (==) ", "!="),
    "lane mask": _each(r"([&%]) (?=\w)", lambda m: "%" if m[1] == "&" else "&"),
}

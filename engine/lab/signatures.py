"""The kernels of a source and their parameters: what the file calls them, and what the compiled kernel takes."""

from __future__ import annotations

import re
from dataclasses import dataclass

from engine.lab.top_level import declarations
from engine.records import NotRunnable

_PARAMETER = re.compile(r"\.param\s+(?:\.align\s+\d+\s+)?\.([a-z]+)(\d+)[^,\[\n]*?\s(\w+)(?:\[(\d+)\])?\s*(?:,|$)")
_MOST_LISTED = 20
_ABOUT = re.compile(
    r"__launch_bounds__\s*\((?:[^()]|\([^()]{0,99}\)){0,99}\)|__(?:grid_constant|restrict)__|//[^\n]*|/\*.*?(?:\*/|\Z)",
    re.DOTALL,
)


@dataclass(frozen=True)
class Parameter:
    """One of a compiled kernel. `kind`: "f" a floating-point number, "u" or "s" a whole number or an address, "b"
    bytes, such as a struct; `size` in bytes; `name` as the file has it, or its place."""

    name: str
    kind: str
    size: int


@dataclass(frozen=True)
class Declared:
    """A kernel of a text: its parameters' names, whether it is a template, and each parameter as it is written."""

    parameters: tuple[str, ...]
    template: bool
    written: tuple[str, ...] = ()


def kernels_in(text: str) -> dict[str, Declared]:
    """Every kernel that the text declares, by name."""
    found: dict[str, Declared] = {}
    for one in declarations(text):
        if "__global__" in one.words and one.called:
            head = _ABOUT.sub(" ", text[one.start : one.end]).partition("__global__")[2]
            named = re.search(r"(\w+)\s*\(", head)
            if named:
                inside = _bracketed(head[named.end() :])
                written = tuple(part.strip() for part in parts(inside))
                names = tuple(_name_of(part) for part in written)
                found.setdefault(named[1], Declared(names, one.words[0] == "template", written))
    return found


def named_kernel(text: str, file_name: str, name: str | None) -> tuple[str, tuple[str, ...]]:
    """The kernel that is meant, which can be left open where there is only one, and its parameters' names.

    `name` may have template arguments and a namespace. NotRunnable where the text has no such kernel."""
    kernels = kernels_in(text)
    listed = ", ".join([*list(kernels)[:_MOST_LISTED], *(["…"] if len(kernels) > _MOST_LISTED else [])])
    if not kernels:
        raise NotRunnable(f"{file_name} has no kernel: no function with __global__.")
    if name is None:
        if len(kernels) > 1:
            raise NotRunnable(f"{file_name} has several kernels: name one of {listed}.")
        name = next(iter(kernels))
    bare = name.partition("<")[0].strip().rpartition("::")[2]
    if bare not in kernels:
        raise NotRunnable(f"{file_name} has no kernel named {bare}; it has {listed}.")
    if kernels[bare].template and "<" not in name:
        raise NotRunnable(f"{bare} in {file_name} is a template: name it with its arguments, such as {bare}<float>.")
    return name, kernels[bare].parameters


def parameters(ptx: str, symbol: str, names: tuple[str, ...]) -> tuple[Parameter, ...]:
    """Those of the compiled kernel `symbol`; `names`: what the file calls them."""
    found = re.search(rf"\.entry {re.escape(symbol)}\s*\((.*?)\)\s*(?:\.|\{{)", ptx, re.DOTALL)
    rows = _PARAMETER.findall(found[1]) if found else []
    if len(rows) != len(names):
        names = tuple(f"argument {number}" for number in range(1, len(rows) + 1))
    return tuple(
        Parameter(name, kind[0], int(bits) // 8 * int(count or 1))
        for name, (kind, bits, _, count) in zip(names, rows, strict=True)
    )


def _bracketed(text: str) -> str:
    depth = 1
    for place, letter in enumerate(text):
        depth += (letter == "(") - (letter == ")")
        if not depth:
            return text[:place]
    return text


def parts(inside: str) -> list[str]:
    """What stands between commas that stand in no brackets."""
    found, depth, start = [], 0, 0
    for place, letter in enumerate(inside):
        depth += (letter in "(<[{") - (letter in ")>]}")
        if letter == "," and not depth:
            found.append(inside[start:place])
            start = place + 1
    return [part for part in [*found, inside[start:]] if part.strip() and part.strip() != "void"]


def _name_of(parameter: str) -> str:
    words = re.findall(r"\w+", re.sub(r"\[[^\]]*\]|=.*", "", parameter))
    return words[-1] if words else "argument"

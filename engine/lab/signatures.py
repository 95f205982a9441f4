"""The kernels of a source and their parameters: their names in the file, and the types of the compiled kernel."""

from __future__ import annotations

import re
from dataclasses import dataclass

from engine.lab.top_level import after_template, declarations, parts, template_parameters

_PARAMETER = re.compile(r"\.param\s+(?:\.align\s+\d+\s+)?\.([a-z]+)(\d+)[^,\[\n]*?\s(\w+)(?:\[(\d+)\])?\s*(?:,|$)")
_ABOUT = re.compile(
    r"__(?:launch_bounds|cluster_dims|block_size)__\s*\((?:[^()]|\([^()]{0,99}\)){0,99}\)|__(?:grid_constant|restrict)__|//[^\n]*|/\*.*?(?:\*/|\Z)",
    re.DOTALL,
)


@dataclass(frozen=True)
class Parameter:
    """A parameter of a compiled kernel. `kind`: "f" float, "u" or "s" integer or address, "b" bytes, such as a struct.

    `size` in bytes; `name`: its name in the file, or its index.
    """

    name: str
    kind: str
    size: int


@dataclass(frozen=True)
class Declared:
    """A kernel of a text: its parameters' names, each parameter as written, its template parameters, and its
    namespaces.
    """

    parameters: tuple[str, ...]
    written: tuple[str, ...] = ()
    template: tuple[str, ...] = ()
    scope: str = ""


def kernels_in(text: str) -> dict[str, Declared]:
    """Return every kernel that the text declares, by name."""
    found: dict[str, Declared] = {}
    for one in declarations(text):
        if "__global__" in one.words and one.called:
            whole = _ABOUT.sub(" ", text[after_template(text, one) : one.end])
            head = whole.partition("__global__")[2] or whole
            named = re.search(r"(\w+)\s*\(", head)
            if named:
                inside = _bracketed(head[named.end() :])
                written = tuple(part.strip() for part in parts(inside))
                names = tuple(_name_of(part) for part in written)
                own = tuple(" ".join(part.split()) for part in template_parameters(text, one))
                found.setdefault(named[1], Declared(names, written, own, one.scope))
    return found


def bare(kernel: str) -> str:
    """Return a kernel's name without template arguments and namespaces."""
    return kernel.partition("<")[0].strip().rpartition("::")[2]


def parameters(ptx: str, symbol: str, names: tuple[str, ...]) -> tuple[Parameter, ...]:
    """Return the parameters of the compiled kernel `symbol`; `names`: their names in the file."""
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


def _name_of(parameter: str) -> str:
    words = re.findall(r"\w+", re.sub(r"\[[^\]]*\]|=.*", "", parameter))
    return words[-1] if words else "argument"

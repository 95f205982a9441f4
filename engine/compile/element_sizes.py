"""The element size of arrays that a .cu file declares. PTX knows an array's bytes but not its type."""

from __future__ import annotations

import re
from dataclasses import replace
from functools import lru_cache

from engine.compile.nvrtc import EMULATED_ARCHITECTURE, compile_here
from engine.compile.process import call_apart
from engine.records import CompileError, NotRunnable, Source

_TYPE = r"((?:\w+\s+)*[A-Za-z_][\w:]*(?:<[^;{}()]*?>)?)"
_ABOUT = re.compile(
    r"\b(?:static|extern|const|constexpr|volatile|__(?:shared|device|constant|managed|restrict)__)\b|__align__\s*\(\w+\)|"
    r"alignas\s*\(\w+\)"
)
_ASKED = "kernel_ladder_element_bytes"
_DECLARED = re.compile(rf"(?:^|(?<=[;{{}}]))\s*{_TYPE}\s+(\w[^;{{}}()]*\[)", re.MULTILINE)
_ARRAY = re.compile(r"(?:^|,)\s*(\w+)\s*\[")  # of a declaration's names
MOST_ALONE = 16  # types that are asked for one by one
_ELSEWHERE = re.compile(r"\b(?:__(?:shared|device|constant|managed)__|extern|return|typedef|using|new|delete|else)\b")


@lru_cache(maxsize=256)
def local_arrays(source: Source) -> frozenset[str]:
    """Return the arrays of the file that are in no memory space of their own. PTX has one block of bytes for those of
    a function."""
    found = re.finditer(rf"(?:^|[;{{}}])\s*({_TYPE}\s+\w+\s*\[[^;{{}}]*)", source.text, re.MULTILINE)
    declared = (one[1] for one in found if not _ELSEWHERE.search(one[1]))
    return frozenset(name for one in declared for name in re.findall(r"(\w+)\s*\[", one))


def element_bytes(source: Source, name: str) -> int | None:
    """Return the bytes of an element of the array `name`; None if the file declares none of that name, or several
    types.

    The compiler computes it, because only it knows a struct's size.
    """
    return _sizes(source).get(name)


@lru_cache(maxsize=256)
def _sizes(source: Source) -> dict[str, int]:
    """Return the bytes of an element of each array that the file declares with one type; one compilation for all."""
    if source.foreign:
        try:
            return dict(call_apart(source.name, source.text, _asked, source))
        except (CompileError, NotRunnable):
            return {}
    return dict(_asked(source))


def _asked(source: Source) -> tuple[tuple[str, int], ...]:
    """Return the pairs of `_sizes`: a compilation's process hands out no dict."""
    types: dict[str, set[str]] = {}
    for kind, names in _DECLARED.findall(_ABOUT.sub(" ", source.text)):
        for name in _ARRAY.findall(names):
            types.setdefault(name, set()).add(" ".join(kind.split()))
    one = {name: next(iter(kinds)) for name, kinds in types.items() if len(kinds) == 1}
    kinds = tuple(dict.fromkeys(one.values()))
    sizes = _bytes_of(source, kinds)
    if not sizes and len(kinds) > 1:  # one of them is unknown there, such as a type of a function's own
        sizes = {kind: size for each in kinds[:MOST_ALONE] for kind, size in _bytes_of(source, (each,)).items()}
    return tuple((name, sizes[kind]) for name, kind in one.items() if kind in sizes)


def _bytes_of(source: Source, kinds: tuple[str, ...]) -> dict[str, int]:
    """Return the bytes of each type; empty if one of them is none at the end of the file."""
    questions = [f"__device__ unsigned long long {_ASKED}_{at} = sizeof({kind});" for at, kind in enumerate(kinds)]
    text = "\n".join([source.text, *questions, ""])
    try:
        ptx = compile_here(replace(source, text=text), EMULATED_ARCHITECTURE).ptx.decode()
    except CompileError:
        return {}
    return {kinds[int(at)]: int(size) for at, size in re.findall(rf"{_ASKED}_(\d+) = (\d+);", ptx)}

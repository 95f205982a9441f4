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


_ELSEWHERE = re.compile(r"\b(?:__(?:shared|device|constant|managed)__|extern|return|typedef|using|new|delete|else)\b")


@lru_cache(maxsize=256)
def local_arrays(source: Source) -> frozenset[str]:
    """Return the arrays of the file that are in no memory space of their own. PTX has one block of bytes for those of
    a function."""
    found = re.finditer(rf"(?:^|[;{{}}])\s*({_TYPE}\s+\w+\s*\[[^;{{}}]*)", source.text, re.MULTILINE)
    declared = (one[1] for one in found if not _ELSEWHERE.search(one[1]))
    return frozenset(name for one in declared for name in re.findall(r"(\w+)\s*\[", one))


@lru_cache(maxsize=256)
def element_bytes(source: Source, name: str) -> int | None:
    """Return the bytes of an element of the array `name`; None if the file declares none of that name, or several
    types.

    The compiler computes it, because only it knows a struct's size.
    """
    if source.foreign:
        try:
            return call_apart(source.name, source.text, _element_bytes, source, name)
        except (CompileError, NotRunnable):
            return None
    return _element_bytes(source, name)


def _element_bytes(source: Source, name: str) -> int | None:
    text = _ABOUT.sub(" ", source.text)
    found = {
        " ".join(kind.split()) for kind in re.findall(rf"(?:^|[;{{}}])\s*{_TYPE}\s+{name}\s*\[", text, re.MULTILINE)
    }
    if len(found) != 1:
        return None
    question = f"\n__device__ unsigned long long {_ASKED} = sizeof({found.pop()});\n"
    try:
        ptx = compile_here(replace(source, text=source.text + question), EMULATED_ARCHITECTURE).ptx.decode()
    except CompileError:
        return None
    answer = re.search(rf"{_ASKED} = (\d+);", ptx)
    return int(answer[1]) if answer else None

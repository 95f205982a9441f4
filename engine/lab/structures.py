"""Structs that a kernel takes by value: their fields, as the file declares them and as the compiler lays them out."""

from __future__ import annotations

import re
import struct
from dataclasses import dataclass, replace
from functools import lru_cache

from engine.compile.nvrtc import EMULATED_ARCHITECTURE, compile_here
from engine.compile.process import call_apart
from engine.lab.top_level import declarations, members, parts, uncommented
from engine.records import CompileError, NotRunnable, Source

_ASKED = "kernel_ladder_fields"
_ABOUT = re.compile(r"\b(?:const|volatile|struct|class|mutable|__restrict__|__restrict|__grid_constant__)\b|&")
_KINDS = """
template <class A> struct _field { enum { kind = 0 }; };
template <class A> struct _field<const A> : _field<A> { };
template <class A> struct _field<A *> { enum { kind = 1 }; };
template <class A> struct _field<A *const> { enum { kind = 1 }; };
template <class A> struct _field<A *__restrict__> { enum { kind = 1 }; };
template <> struct _field<float> { enum { kind = 2 }; };
template <> struct _field<double> { enum { kind = 2 }; };
""" + "".join(
    f"template <> struct _field<{one}> {{ enum {{ kind = 3 }}; }};\n"
    for one in ("bool", "char", "signed char", "unsigned char", "short", "unsigned short", "int", "unsigned", "long",
                "unsigned long", "long long", "unsigned long long")
)  # fmt: skip


@dataclass(frozen=True)
class Field:
    """A field at an `offset` in bytes. `kind`: "p" pointer, "f" float, "u" integer, "b" bytes, such as an array."""

    name: str
    offset: int
    size: int
    kind: str


def fields_in(text: str, written: str) -> dict[str, str]:
    """Return the fields of the struct that a parameter's words name: each as written, by its name; none if the text
    does not declare it."""
    words = re.findall(r"\w+", _ABOUT.sub(" ", written).partition("<")[0])
    for one in declarations(text) if words else ():
        if one.kind == "type" and words[0] in one.words and "{" in text[one.start : one.end]:
            return {name: field for own in members(text, one) if own.kind == "variable" and not own.body
                    for name, field in _split(uncommented(text[own.start : own.end]))}  # fmt: skip
    return {}


def _split(declared: str) -> list[tuple[str, str]]:
    """Return the fields of one declaration: `float *a, b[2];` -> [("a", "float *a"), ("b", "float b[2]")]."""
    if re.match(r"\s*(?:static|constexpr|using|typedef|friend|template)\b", declared):
        return []
    first, *more = parts(declared.strip().rstrip(";"))
    kind = re.match(r"\s*(?:(?:const|volatile|unsigned|signed|long|short|struct)\s+)*[\w:]+(?:<.*>)?", first)
    found = [first, *(f"{kind[0] if kind else ''} {one.strip()}" for one in more)]
    bare = [re.findall(r"\w+", re.sub(r"\[[^\]]*\]|=.*|\{.*", "", one)) for one in found]
    return [(words[-1], one) for words, one in zip(bare, found, strict=True) if len(words) > 1]


@lru_cache(maxsize=64)
def layout(source: Source, written: str, scope: str, names: tuple[str, ...]) -> tuple[Field, ...]:
    """Return the fields of a struct as the compiler lays them out. NotRunnable: it cannot tell."""
    kind = _ABOUT.sub(" ", written.rpartition(" ")[0]).strip()
    try:
        return call_apart(source.name, source.text, _layout, source, f"{scope}::{kind}" if scope else kind, names)
    except CompileError:
        raise NotRunnable(f"{source.name}: the fields of {kind} cannot be read; pass a NumPy struct.") from None


def _layout(source: Source, kind: str, names: tuple[str, ...]) -> tuple[Field, ...]:
    fields = (f"decltype((({kind} *)0)->{name})" for name in names)
    asked = ", ".join(f"alignof({field}), sizeof({field}), _field<{field}>::kind" for field in fields)
    question = f"\n{_KINDS}\n__device__ unsigned long long {_ASKED}[] = {{ sizeof({kind}), {asked} }};\n"
    ptx = compile_here(replace(source, text=source.text + question, names=()), EMULATED_ARCHITECTURE).ptx.decode()
    found = re.search(rf"\.b8 {_ASKED}\[(\d+)\] = \{{([^}}]*)\}};", ptx)
    if not found:
        raise CompileError("", "")
    data = bytes(map(int, found[2].split(","))).ljust(int(found[1]), b"\0")  # zeros at the end are not written
    whole, *told = struct.unpack(f"<{len(data) // 8}Q", data)
    made: list[Field] = []
    end, most = 0, 1
    for name, alignment, size, number in zip(names, told[::3], told[1::3], told[2::3], strict=True):
        made.append(Field(name, -(-end // alignment) * alignment, size, "bpfu"[number]))
        end, most = made[-1].offset + size, max(most, alignment)
    if -(-end // most) * most != whole:  # a base class, or another alignment
        raise CompileError("", "")
    return tuple(made)

"""The elements of arrays, and the structs that a kernel takes by value: their fields, as the file declares them and as
the compiler lays them out."""

from __future__ import annotations

import re
import struct
from dataclasses import dataclass, replace
from functools import lru_cache
from math import prod

import numpy as np

from engine.compile.nvrtc import EMULATED_ARCHITECTURE, compile_here
from engine.compile.process import call_apart
from engine.lab.top_level import declarations, is_left_out, members, parts, uncommented
from engine.records import CompileError, NotRunnable, Source
from engine.records.words import digits

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

# C types as NumPy types
_TYPES = {"float": "float32", "double": "float64", "half": "float16", "__half": "float16", "char": "int8",
          "short": "int16", "int": "int32", "long": "int64", "bool": "bool", "uint": "uint32", "unsigned": "uint32",
          "uchar": "uint8", "ushort": "uint16", "ulong": "uint64", "size_t": "uint64", "clock_t": "int64",
          "__nv_bfloat16": "uint16", "nv_bfloat16": "uint16", "__nv_fp8_e4m3": "uint8", "__nv_fp8_e5m2": "uint8",
          **{f"{kind}{bits}_t": f"{kind}{bits}" for kind in ("int", "uint") for bits in (8, 16, 32, 64)}}  # fmt: skip
_COMPLEX = {"cuComplex": "float", "cuFloatComplex": "float", "cufftComplex": "float", "cuDoubleComplex": "double",
            "cufftDoubleComplex": "double"}  # fmt: skip
_COMPONENTS = "xyzw"
_VECTOR = re.compile(r"(?:__)?(u?(?:char|short|int|long)|longlong|ulonglong|float|double|half|nv_bfloat16)([1-4])")
_PRIVATE = re.compile(r"((?<!enum )\bclass\s+\w[^;{}()]*\{)")  # its first fields are private
_LONG = {"longlong": "long", "ulonglong": "ulong"}
_DEEPEST = 6  # names of one type


@dataclass(frozen=True)
class Field:
    """A field at an `offset` in bytes. `kind`: "p" pointer, "f" float, "u" integer, "b" bytes, such as an array;
    `element`: NumPy's name of what it points to, "" if unknown."""

    name: str
    offset: int
    size: int
    kind: str
    element: str = ""


@dataclass(frozen=True)
class Element:
    """An element of an array: `count` numbers of a NumPy type, one unless it is a vector or a struct."""

    kind: str
    count: int = 1

    @property
    def size(self) -> int:
        """Its bytes."""
        return np.dtype(self.kind).itemsize * self.count


def element_of(text: str, written: str, depth: int = 0) -> Element | None:
    """Return the element of the pointer or array `written`, or the type itself; None: the text does not tell, or it is
    no number, vector, or struct of numbers of one size."""
    if depth > _DEEPEST or written.count("*") > 1:
        return None
    head = re.split(r"[*\[]", _ABOUT.sub(" ", written))[0]
    words = re.findall(r"\w+", head.partition("<")[0])
    known = next((_TYPES[word] for word in words if word in _TYPES and word != "unsigned"), None)
    if known or "unsigned" in words:
        known = known or "uint32"
        return Element(f"u{known}" if "unsigned" in words and known.startswith("int") else known)
    for word in words:
        if vector := _VECTOR.fullmatch(word):
            return Element(_TYPES[_LONG.get(vector[1], vector[1])], int(vector[2]))
        if word in _COMPLEX:
            return Element(_TYPES[_COMPLEX[word]], 2)
        if word == "dim3":
            return Element("uint32", 3)
    if not words:
        return None
    name = words[0]
    if fields := fields_in(text, head):
        inside = [(element_of(text, field, depth + 1), length_of(field)) for field in fields.values()]
        kinds = {one.kind: np.dtype(one.kind).itemsize for one, _ in inside if one}
        if len({*kinds.values()}) != 1 or any(
            one is None or not length or "*" in field
            for (one, length), field in zip(inside, fields.values(), strict=True)
        ):
            return None
        kind = next((one for one in kinds if "int" in one), next(iter(kinds)))  # small as an index
        return Element(kind, sum(one.count * length for one, length in inside if one))
    meant = {
        element_of(text, found[1], depth + 1) if "*" not in found[1] else None
        for pattern in (rf"\btypedef\s+([^;{{}}]{{1,100}}?)\b{name}\s*;", rf"\busing\s+{name}\s*=\s*([^;]{{1,100}});",
                        rf"^[ \t]*#[ \t]*define[ \t]+{name}[ \t]+([\w ]{{1,60}}?)[ \t]*(?://[^\n]*)?$")
        for found in re.finditer(pattern, text, re.MULTILINE)
        if not is_left_out(text, found.start())
    }  # fmt: skip
    return meant.pop() if len(meant) == 1 else None  # with several meanings the text does not tell


def mixed_element(text: str, written: str) -> Element | None:
    """Return integers with the bytes of a struct of numbers of several sizes; None: it is none, or has pointers."""
    end, most = 0, 1
    fields = fields_in(text, re.split(r"[*\[]", _ABOUT.sub(" ", written))[0]) or {}
    for field in fields.values():
        one, length, vector = element_of(text, field), length_of(field), _VECTOR.search(field)
        if one is None or not length or "*" in field:
            return None
        aligned = min(one.size, 16) if vector and vector[2] in "24" else np.dtype(one.kind).itemsize
        end, most = -(-end // aligned) * aligned + one.size * length, max(most, aligned)
    whole = -(-end // most) * most
    return None if not fields else Element("int32", whole // 4) if whole % 4 == 0 else Element("int8", whole)


def length_of(field: str) -> int:
    """Return how many values a field holds: 6 of `float a[2][3]`; 0: unknown."""
    sizes = [digits(size.strip()) for size in re.findall(r"\[([^\]]*)\]", field)]
    return prod(size or 0 for size in sizes)


def fields_in(text: str, written: str, depth: int = 0) -> dict[str, str] | None:
    """Return the fields of the struct that a parameter's words name, after those of its base classes: each as written,
    by its name; {} of a functor; None: the text does not declare it, or it is an enumeration."""
    words = re.findall(r"\w+", _ABOUT.sub(" ", written).partition("<")[0])
    for one in declarations(text) if words and words[0] not in _TYPES else ():
        named = one.kind == "type" and words[0] in one.words and "enum" not in one.words
        head, opened, _ = text[one.start : one.end].partition("{")
        if named and opened:
            found: dict[str, str] = {}
            for base in parts(uncommented(head).replace("::", " ").partition(":")[2]) if depth < _DEEPEST else ():
                found |= fields_in(text, (base.partition("<")[0].split() or [""])[-1], depth + 1) or {}
            return found | {name: field for own in members(text, one) if own.kind == "variable" and not own.body
                            for name, field in _split(uncommented(text[own.start : own.end]))}  # fmt: skip
    return None


def vector_fields(text: str, written: str) -> tuple[Field, ...]:
    """Return the fields x, y, z and w of a parameter that is one of CUDA's vectors, such as float3 or dim3; none of
    another type."""
    one = None if re.search(r"[*\[]", written) or fields_in(text, written) else element_of(text, written)
    if one is None or not 1 < one.count <= len(_COMPONENTS):
        return ()
    size, kind = np.dtype(one.kind).itemsize, "f" if one.kind in ("float32", "float64") else "u"
    return tuple(Field(name, at * size, size, kind) for at, name in enumerate(_COMPONENTS[: one.count]))


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
    text = _PRIVATE.sub(r"\1 public:", source.text) + question
    options = (*source.options, "-Dprivate=public", "-Dprotected=public")
    ptx = compile_here(replace(source, text=text, names=(), options=options), EMULATED_ARCHITECTURE).ptx.decode()
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

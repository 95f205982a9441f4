"""Where an unoptimised build keeps each C++ variable: read from the DWARF sections of its PTX.

A place is a line of the PTX, as `Instruction.place` is. The compiler writes a register's name as its number (the
letters of "%r1" as bytes), and its labels as addresses; here a label is the line on which it stands.
"""

from __future__ import annotations

import re
from collections.abc import Iterator, Mapping
from dataclasses import dataclass, replace
from functools import lru_cache
from io import BytesIO
from typing import Any, Literal

from elftools.dwarf.dwarf_expr import DWARFExprParser
from elftools.dwarf.dwarfinfo import DebugSectionDescriptor, DwarfConfig, DWARFInfo
from elftools.dwarf.locationlists import LocationParser

_SYMBOLS = 1 << 40  # the addresses of symbols begin here, above all lines
_SECTION = re.compile(r"^\t?\.section\t?\s*(\.debug_\w+)\s*\{(.*?)^\t?\}", re.MULTILINE | re.DOTALL)
_LABEL = re.compile(r"^(\$?\w+):")
_WIDTHS = {"b8": 1, "b16": 2, "b32": 4, "b64": 8}
_DEEPEST = 8  # structs within structs
_ENCODINGS: dict[int, Kind] = {2: "bool", 4: "float", 5: "int", 6: "char", 7: "uint", 8: "char"}
_SAME = ("DW_TAG_const_type", "DW_TAG_volatile_type", "DW_TAG_restrict_type", "DW_TAG_typedef")  # of one more name
Kind = Literal["int", "uint", "float", "bool", "char", "pointer", "struct", "array", "other"]


@dataclass(frozen=True)
class Type:
    """A type: `name` as in C++, `size` in bytes. `fields`: of a struct; `element`, `count`: of an array. A pointer to
    numbers has an `element`, too."""

    name: str
    kind: Kind
    size: int
    fields: tuple[Field, ...] = ()
    element: Type | None = None
    count: int = 0


@dataclass(frozen=True)
class Field:
    """A field of a struct, at `offset` bytes from its start."""

    name: str
    type: Type
    offset: int


@dataclass(frozen=True)
class Location:
    """The places [low, high) at which a variable is kept in a `register`, or in memory at `symbol` + `offset`."""

    low: int
    high: int
    register: str = ""
    symbol: str = ""
    offset: int = 0


@dataclass(frozen=True)
class Variable:
    """A variable of the text. It is known at the places [low, high); `line`: of its declaration."""

    name: str
    type: Type
    low: int
    high: int
    line: int
    parameter: bool
    locations: tuple[Location, ...]

    def at(self, place: int) -> Location | None:
        """Return where the variable is kept at a place; None: nowhere."""
        return next((one for one in self.locations if one.low <= place < one.high), None)


@dataclass(frozen=True)
class Function:
    """A function of the text, at the places [low, high), with its variables, the outermost first."""

    name: str
    low: int
    high: int
    variables: tuple[Variable, ...]


@dataclass(frozen=True)
class DebugInfo:
    """The functions of a PTX. `results`: place -> the registers that the instruction there writes."""

    functions: tuple[Function, ...]
    results: Mapping[int, tuple[str, ...]]

    def registers_of(self, function: Function) -> frozenset[str]:
        """Return the registers in which the variables of a function are kept at any time."""
        every = (location.register for variable in function.variables for location in variable.locations)
        return frozenset(filter(None, every))


@lru_cache(maxsize=16)
def debug_info(ptx: str) -> DebugInfo:
    """Read a PTX that was compiled with nvrtc.UNOPTIMISED. Without debug information there are no functions."""
    lines = ptx.splitlines()
    labels = {found[1]: number for number, line in enumerate(lines, 1) if (found := _LABEL.match(line))}
    reader = _Reader(dict(_SECTION.findall(ptx)), labels)
    return DebugInfo(tuple(reader.functions()), _results(lines))


_OPERATION = re.compile(r"^\s*(?:@!?%\w+\s+)?[a-z][\w.:]*\s+(\{[^}]*\}|[^,;]+)")
_REGISTER = re.compile(r"%\w+")


def _results(lines: list[str]) -> dict[int, tuple[str, ...]]:
    """Return the registers that each instruction writes: those of its first operand, unless it is an address."""
    found = {}
    for number, line in enumerate(lines, 1):
        operation = _OPERATION.match(line)
        if operation and "[" not in operation[1]:
            found[number] = tuple(_REGISTER.findall(operation[1]))
    return found


class _Reader:
    """The debug information of one PTX as a tree of entries."""

    def __init__(self, sections: Mapping[str, str], labels: Mapping[str, int]) -> None:
        self._labels = labels
        self._symbols: dict[str, int] = {}
        made = {name: self._bytes(text) for name, text in sections.items()}
        self._info: Any = None
        if ".debug_info" in made:
            parts = {name: _section(name, made.get(name, b"")) for name in
                     (".debug_info", ".debug_abbrev", ".debug_loc", ".debug_str")}  # fmt: skip
            self._info = _dwarf(parts)
            self._names = {number: name for name, number in self._symbols.items()}
            self._locations = LocationParser(self._info.location_lists())
            self._types: dict[int, Type] = {}

    def _bytes(self, text: str) -> bytes:
        """Return the contents of a section: numbers, and the addresses of labels and symbols."""
        found = bytearray()
        for kind, words in re.findall(r"\.(b8|b16|b32|b64)\s+([^\n]+)", text):
            for word in words.split(","):
                value = self._value(word.strip())
                found += (value % (1 << 8 * _WIDTHS[kind])).to_bytes(_WIDTHS[kind], "little")
        return bytes(found)

    def _value(self, word: str) -> int:
        if re.fullmatch(r"-?\d+", word):
            return int(word)
        name, _, offset = word.partition("+")
        if name.startswith(".debug_"):
            return int(offset or 0)
        if name in self._labels:
            return self._labels[name]
        return self._symbols.setdefault(name, _SYMBOLS + (len(self._symbols) << 24)) + int(offset or 0)

    def functions(self) -> Iterator[Function]:
        """Return the functions that have code."""
        for unit in self._info.iter_CUs() if self._info else ():
            for entry in unit.iter_DIEs():
                if entry.tag == "DW_TAG_subprogram" and "DW_AT_low_pc" in entry.attributes:
                    low, high = _range(entry)
                    yield Function(_name(entry), low, high, tuple(self._variables(entry, low, high)))

    def _variables(self, scope: Any, low: int, high: int) -> Iterator[Variable]:
        for entry in scope.iter_children():
            if entry.tag in ("DW_TAG_formal_parameter", "DW_TAG_variable"):
                made = self._variable(entry, low, high)
                if made is not None:
                    yield made
            elif entry.tag in ("DW_TAG_lexical_block", "DW_TAG_inlined_subroutine"):
                yield from self._variables(entry, *(_range(entry) if "DW_AT_low_pc" in entry.attributes else
                                                    (low, high)))  # fmt: skip

    def _variable(self, entry: Any, low: int, high: int) -> Variable | None:
        said = entry
        if "DW_AT_abstract_origin" in entry.attributes:  # of an inlined function
            said = entry.get_DIE_from_attribute("DW_AT_abstract_origin")
        if "DW_AT_name" not in said.attributes or "DW_AT_type" not in said.attributes:
            return None
        line = said.attributes.get("DW_AT_decl_line")
        kept = tuple(self._places(entry, low, high)) if "DW_AT_location" in entry.attributes else ()
        return Variable(_name(said), self._type(said), low, high, line.value if line else 0,
                        entry.tag == "DW_TAG_formal_parameter", kept)  # fmt: skip

    def _places(self, entry: Any, low: int, high: int) -> Iterator[Location]:
        found: Any = self._locations.parse_from_attribute(
            entry.attributes["DW_AT_location"], entry.cu["version"], entry
        )
        if hasattr(found, "loc_expr"):
            ranges = [(low, high, found.loc_expr)]
        else:
            ranges = [(one.begin_offset, one.end_offset, one.loc_expr) for one in found if hasattr(one, "loc_expr")]
        for first, last, expression in ranges:
            made = self._location(expression, first, last, entry.cu.structs)
            if made is not None:
                yield made

    def _location(self, expression: list[int], low: int, high: int, structs: Any) -> Location | None:
        """Return the register, or the memory, that an expression names; None for any other expression."""
        operations = DWARFExprParser(structs).parse_expr(expression)
        words = [(one.op_name, one.args) for one in operations]
        if len(words) == 1 and words[0][0] == "DW_OP_regx":
            number = words[0][1][0]
            return Location(low, high, register=number.to_bytes(8, "big").lstrip(b"\0").decode("ascii", "replace"))
        if words and words[0][0] == "DW_OP_addr" and all(name == "DW_OP_plus_uconst" for name, _ in words[1:]):
            address = words[0][1][0]
            symbol = next((name for number, name in self._names.items() if number <= address < number + (1 << 24)), "")
            base = self._symbols.get(symbol, address)
            return Location(low, high, symbol=symbol, offset=address - base + sum(args[0] for _, args in words[1:]))
        return None

    def _type(self, entry: Any, depth: int = 0) -> Type:
        """Return the type that an entry's DW_AT_type names."""
        if "DW_AT_type" not in entry.attributes:
            return Type("void", "other", 0)
        named = entry.get_DIE_from_attribute("DW_AT_type")
        if named.offset not in self._types:
            self._types[named.offset] = self._made(named, depth)
        return self._types[named.offset]

    def _made(self, entry: Any, depth: int) -> Type:
        size = entry.attributes["DW_AT_byte_size"].value if "DW_AT_byte_size" in entry.attributes else 0
        if entry.tag == "DW_TAG_base_type":
            return Type(_name(entry), _ENCODINGS.get(entry.attributes["DW_AT_encoding"].value, "other"), size)
        if entry.tag in ("DW_TAG_pointer_type", "DW_TAG_reference_type", "DW_TAG_rvalue_reference_type"):
            mark = "*" if entry.tag == "DW_TAG_pointer_type" else "&"
            to = self._pointed(entry)
            return Type(f"{to} {mark}", "pointer", 8, element=self._number(entry))
        if entry.tag in ("DW_TAG_structure_type", "DW_TAG_class_type", "DW_TAG_union_type"):
            return Type(_name(entry), "struct", size, tuple(self._fields(entry, depth)) if depth < _DEEPEST else ())
        if entry.tag == "DW_TAG_array_type":
            return self._array(entry, depth)
        if entry.tag == "DW_TAG_enumeration_type":
            return Type(_name(entry), "int", size)
        inner = self._type(entry, depth)  # const, volatile, typedef
        if entry.tag == "DW_TAG_typedef":
            return replace(inner, name=_name(entry))
        return inner

    def _number(self, entry: Any) -> Type | None:
        """Return the type of the numbers that a pointer points to; None: it points to something else."""
        while "DW_AT_type" in entry.attributes:
            entry = entry.get_DIE_from_attribute("DW_AT_type")
            if entry.tag == "DW_TAG_base_type":
                return self._made(entry, 0)
            if entry.tag not in _SAME:
                return None
        return None

    def _pointed(self, entry: Any) -> str:
        """Return the name of what an entry points to, without its fields, as a struct may point to itself."""
        words: list[str] = []
        while "DW_AT_type" in entry.attributes:
            entry = entry.get_DIE_from_attribute("DW_AT_type")
            if entry.tag == "DW_TAG_const_type":
                words.insert(0, "const")
            elif entry.tag == "DW_TAG_pointer_type":
                words.append("*")
            elif "DW_AT_name" in entry.attributes:
                return " ".join([*[one for one in words if one == "const"], _name(entry),
                                 *[one for one in words if one == "*"]])  # fmt: skip
        return "void"

    def _fields(self, entry: Any, depth: int) -> Iterator[Field]:
        for one in entry.iter_children():
            if one.tag in ("DW_TAG_member", "DW_TAG_inheritance") and "DW_AT_data_member_location" in one.attributes:
                place = one.attributes["DW_AT_data_member_location"].value
                if not isinstance(place, int):
                    read = DWARFExprParser(one.cu.structs).parse_expr(place)
                    place = read[0].args[0] if read and read[0].op_name == "DW_OP_plus_uconst" else 0
                kind = self._type(one, depth + 1)
                yield Field(_name(one) if "DW_AT_name" in one.attributes else kind.name, kind, place)

    def _array(self, entry: Any, depth: int) -> Type:
        element = self._type(entry, depth + 1)
        counts = []
        for one in entry.iter_children():
            if one.tag == "DW_TAG_subrange_type":
                bound, count = one.attributes.get("DW_AT_upper_bound"), one.attributes.get("DW_AT_count")
                counts.append(count.value if count else bound.value + 1 if bound else 0)
        for count in reversed(counts):
            element = Type(f"{element.name}[{count}]", "array", count * element.size, (), element, count)
        return element


def _section(name: str, data: bytes) -> DebugSectionDescriptor:
    return DebugSectionDescriptor(stream=BytesIO(data), name=name, global_offset=0, size=len(data), address=0)


def _dwarf(parts: Mapping[str, DebugSectionDescriptor]) -> Any:
    names = ("debug_aranges_sec", "debug_frame_sec", "eh_frame_sec", "debug_ranges_sec", "debug_line_sec",
             "debug_pubtypes_sec", "debug_pubnames_sec", "debug_addr_sec", "debug_str_offsets_sec",
             "debug_line_str_sec", "debug_loclists_sec", "debug_rnglists_sec", "debug_sup_sec", "gnu_debugaltlink_sec",
             "debug_types_sec")  # fmt: skip
    return DWARFInfo(
        config=DwarfConfig(little_endian=True, machine_arch="x64", default_address_size=8),
        debug_info_sec=parts[".debug_info"],
        debug_abbrev_sec=parts[".debug_abbrev"],
        debug_loc_sec=parts[".debug_loc"],
        debug_str_sec=parts[".debug_str"],
        **dict.fromkeys(names),
    )


def _name(entry: Any) -> str:
    name = entry.attributes["DW_AT_name"].value if "DW_AT_name" in entry.attributes else b""
    return name.decode("utf-8", "replace")


def _range(entry: Any) -> tuple[int, int]:
    low, high = entry.attributes["DW_AT_low_pc"], entry.attributes["DW_AT_high_pc"]
    return low.value, high.value if high.form == "DW_FORM_addr" else low.value + high.value

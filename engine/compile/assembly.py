"""The shared-memory accesses in the machine code of a kernel, read from its cubin without the CUDA toolkit.

ptxas merges, repeats and drops accesses of the PTX. With -lineinfo a cubin holds the PTX that it was made from, without
comments (`.nv_debug_ptx_txt`), and a DWARF line table from machine code to the lines of that text
(`.nv_debug_line_sass`). An instruction has 16 bytes from sm_70 on.
"""

from __future__ import annotations

import struct
from collections.abc import Iterator, Mapping, Sequence
from dataclasses import dataclass, field
from functools import lru_cache

from engine.compile.control_flow import conditions_of
from engine.compile.cubin import Section, sections_of


def rows_of(table: bytes, relocated: Mapping[int, int]) -> dict[int, dict[int, int]]:
    """Return section -> address in it -> line, for each address at which a line starts.

    Empty for a table of another version. `relocated`: the section of an address, by the address's place in the table.
    """
    found: dict[int, dict[int, int]] = {}
    start = 0
    while start < len(table):
        length, version, header = struct.unpack_from("<IHI", table, start)
        if version != 2:
            return {}
        step, _, base, span, first = struct.unpack_from("<BBbBB", table, start + 10)
        operands = table[start + 15 : start + 14 + first]
        at, end = start + 10 + header, start + 4 + length
        address, line, rows = 0, 1, found.setdefault(-1, {})
        while at < end:
            code = table[at]
            at += 1
            if code >= first:  # a special opcode moves both, and makes a row
                address += (code - first) // span * step
                line += base + (code - first) % span
                rows[address] = line
            elif code == 0:  # an extended opcode, which says how long it is
                size, at = _number(table, at)
                if table[at] == 2:  # set the address
                    rows, address = found.setdefault(relocated.get(at + 1, -1), {}), 0
                elif table[at] == 1:  # the end of a sequence
                    line = 1
                at += size
            elif code == 1:  # copy: make a row
                rows[address] = line
            elif code == 2:  # advance the address
                size, at = _number(table, at)
                address += size * step
            elif code == 3:  # advance the line
                size, at = _number(table, at, signed=True)
                line += size
            elif code == 8:  # like special opcode 255, but without a row
                address += (255 - first) // span * step
            elif code == 9:  # advance the address by the two bytes that follow
                address += struct.unpack_from("<H", table, at)[0]
                at += 2
            else:
                for _ in range(operands[code - 1]):
                    _, at = _number(table, at)
        start = end
    return found


def _number(table: bytes, at: int, signed: bool = False) -> tuple[int, int]:
    """Return (a LEB128 number, the index after it)."""
    value = bits = 0
    while True:
        byte = table[at]
        value |= (byte & 127) << bits
        at, bits = at + 1, bits + 7
        if byte < 128:
            return value - (1 << bits if signed and byte & 64 else 0), at


_BYTES = 16
_SHARED = {0x984: "ld", 0x388: "st", 0x988: "st"}  # bits 0 to 11: LDS; STS, without and with a uniform register
_NEVER = 15  # bits 12 to 15, the predicate: never true
SIZES = (1, 1, 2, 2, 4, 8, 16, 16)  # bits 73 to 75: u8, s8, u16, s16, 32, 64, 128
_LINES, _TEXT = ".nv_debug_line_sass", ".nv_debug_ptx_txt"


@dataclass(frozen=True)
class SharedAccess:
    """A load ("ld") or store ("st") of shared memory in machine code: its PTX line and its bytes per lane.

    `conditions`: as `conditions_of` returns them; None: unknown.
    """

    place: int
    op: str
    size: int
    conditions: frozenset[int] | None = field(default=None, compare=False)


def shared_accesses(cubin: bytes, ptx: str, kernel: str) -> tuple[SharedAccess, ...] | None:
    """Return the accesses of `kernel` and of the functions that it may call, in code order; lines count from 1.

    None if the cubin has no such tables or was not made from `ptx`.
    """
    parts = code_with_lines(cubin, ptx, kernel)
    return None if parts is None else tuple(one for part in parts for one in _accesses(*part))


@lru_cache(maxsize=2)  # a kernel's accesses and its loops are asked for one after the other
def code_with_lines(cubin: bytes, ptx: str, kernel: str) -> tuple[tuple[list[int], list[int], bool], ...] | None:
    """Return the machine code of `kernel` and of the functions that it may call: for each its instructions, as numbers
    of 16 bytes; the PTX line of each; and whether it is the kernel.

    None if the cubin has no such tables or was not made from `ptx`.
    """
    sections = sections_of(cubin)
    numbers = {section.name: number for number, section in enumerate(sections)}
    if not {_LINES, f".rela{_LINES}", _TEXT, f".text.{kernel}"} <= numbers.keys():
        return None
    if not _same_text(sections[numbers[_TEXT]].data, ptx):
        return None
    made = []
    starts = rows_of(sections[numbers[_LINES]].data, _relocated(sections, numbers))
    for name, number in numbers.items():
        owner = name.removeprefix(".text.")
        # A kernel has its arguments in a constant memory of its own; a section without one is a function.
        if owner == kernel or (owner != name and f".nv.constant0.{owner}" not in numbers):
            read = instructions_of(sections[number].data)
            lines, line = [], 0
            for at in range(len(read)):
                line = starts.get(number, {}).get(at * _BYTES, line)
                lines.append(line)
            made.append((read, lines, owner == kernel))
    return tuple(made)


def instructions_of(code: bytes) -> list[int]:
    """Return the instructions of machine code, each as a number of 16 bytes."""
    return [int.from_bytes(code[at : at + _BYTES], "little") for at in range(0, len(code) - _BYTES + 1, _BYTES)]


def _same_text(held: bytes, ptx: str) -> bool:
    """Compare without comments: the cubin keeps some of them, such as that of a call."""
    lines = zip(held.decode().split("\0"), ptx.split("\n"), strict=False)
    return all(mine.partition("//")[0].strip() == given.partition("//")[0].strip() for mine, given in lines if mine)


def _accesses(code: Sequence[int], lines: Sequence[int], is_kernel: bool) -> Iterator[SharedAccess]:
    """Yield the accesses of a section; a function's conditions are unknown, because its callers have more."""
    found = [(at, op) for at, one in enumerate(code) if (op := _SHARED.get(one & 0xFFF)) and one >> 12 & 15 != _NEVER]
    conditions = conditions_of(code, lines) if is_kernel and found else {}
    for at, op in found:
        yield SharedAccess(lines[at], op, SIZES[code[at] >> 73 & 7], conditions.get(at))


def _relocated(sections: list[Section], numbers: dict[str, int]) -> dict[int, int]:
    """Return the section of each address in the line table, by its offset in the table."""
    symbols, entries = sections[numbers[".symtab"]].data, sections[numbers[f".rela{_LINES}"]].data
    found = {}
    for at in range(0, len(entries), 24):
        offset, information = struct.unpack_from("<QQ", entries, at)
        (found[offset],) = struct.unpack_from("<H", symbols, (information >> 32) * 24 + 6)
    return found

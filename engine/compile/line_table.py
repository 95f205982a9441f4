"""A DWARF 2 line table as a dictionary: which line an address of the code comes from (the standard, section 6.2)."""

from __future__ import annotations

import struct
from collections.abc import Mapping


def rows_of(table: bytes, relocated: Mapping[int, int]) -> dict[int, dict[int, int]]:
    """Section -> address in it -> line, for the addresses at which a line starts.

    Empty for a table of another version. `relocated`: the section of an address, by the place in the table where that
    address is set.
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
            elif code == 8:  # as special opcode 255, without a row
                address += (255 - first) // span * step
            elif code == 9:  # advance the address by two bytes that follow
                address += struct.unpack_from("<H", table, at)[0]
                at += 2
            else:
                for _ in range(operands[code - 1]):
                    _, at = _number(table, at)
        start = end
    return found


def _number(table: bytes, at: int, signed: bool = False) -> tuple[int, int]:
    """(a number in LEB128, where it ends)."""
    value = bits = 0
    while True:
        byte = table[at]
        value |= (byte & 127) << bits
        at, bits = at + 1, bits + 7
        if byte < 128:
            return value - (1 << bits if signed and byte & 64 else 0), at

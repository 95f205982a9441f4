"""Which shared array an address is computed from: an access beyond it is an error even where another array follows.

An address takes after what it is added up from. What is multiplied or shifted is an index. Where several arrays come
together, or a pointer is loaded from memory, no array is named, and only the bounds of shared memory hold.
"""

from __future__ import annotations

from functools import lru_cache, reduce
from operator import or_

from engine.backends.emulator.ptx.program import Program
from engine.backends.emulator.ptx.syntax import WIDTHS, Address, Instruction, Operand, Register, Symbol, Vector
from engine.backends.emulator.ptx.traits import has_destination, traits_of, writes

_SUMS = frozenset(("add", "sub", "mov", "cvt", "cvta", "selp", "and", "or", "xor", "lop3", "min", "max", "shfl"))
_PRODUCTS = frozenset(("mad", "mad24", "fma"))  # the last operand is added
_INDICES = frozenset(("mul", "mul24", "shl", "shr", "div", "rem", "popc", "clz", "bfe", "bfind", "brev", "setp"))
_POINTER = 64  # bits: a generic address; shared addresses of 32 bits are not kept in memory


def shared_array_of(program: Program, address: Operand) -> str | None:
    """Return the name of the one shared array that an address is computed from; None if it is not known."""
    if len(program.shared) < 2 and not program.reads_reserved:
        return None  # what is outside the one array is outside shared memory
    base = address.base if isinstance(address, Address) else address
    names = [variable.name for variable in program.shared]
    if isinstance(base, Symbol):
        return base.name if base.name in names else None
    if not isinstance(base, Register):
        return None
    found = _sources(program)[base.index]
    return names[found.bit_length() - 1] if found and not found & (found - 1) and found < 1 << len(names) else None


@lru_cache(maxsize=64)
def _sources(program: Program) -> list[int]:
    """Return for each register the bit set of the shared arrays that it is computed from; a further bit: unknown."""
    bits = {variable.name: 1 << number for number, variable in enumerate(program.shared)}
    unknown = 1 << len(bits)
    held = [0] * len(program.widths)

    def of(operand: Operand) -> int:
        if isinstance(operand, Register):
            return held[operand.index]
        if isinstance(operand, Vector):
            return reduce(or_, map(of, operand.items), 0)
        return bits.get(operand.name, 0) if isinstance(operand, Symbol) else 0

    def made(item: Instruction) -> int:
        head, sources = item.words[0], item.operands[1:]
        if traits_of(item.opcode).memory or head == "ld":
            wide = item.space != "param" and WIDTHS.get(item.words[-1], _POINTER) >= _POINTER
            return unknown if wide else 0
        if head in _PRODUCTS:
            return of(sources[-1])
        if head in _INDICES:
            return 0
        union = reduce(or_, map(of, sources), 0)
        return union if head in _SUMS or not union else union | unknown

    changed = True
    while changed:
        changed = False
        for item in program.instructions:
            if has_destination(item):
                value = made(item)
                for index in writes(item, program.carry):
                    if held[index] | value != held[index]:
                        held[index], changed = held[index] | value, True
    return held

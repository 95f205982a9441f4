"""Where a memory instruction goes: its address, and the instruction as observers know it."""

from __future__ import annotations

import numpy as np

from engine.backends.emulator.ptx.deciding import deciding
from engine.backends.emulator.ptx.register_use import writes
from engine.backends.emulator.ptx.syntax import (
    WIDTHS,
    Address,
    Immediate,
    Instruction,
    Operand,
    PtxError,
    Register,
    Sink,
    shown,
)
from engine.backends.emulator.ptx.uniform import operand_varies
from engine.backends.emulator.registers.operands import Reader, constant, raw_reader
from engine.backends.emulator.registers.values import OuterSum, Value, plain
from engine.backends.emulator.state.events import Site
from engine.backends.emulator.state.machine import Machine
from engine.records import Array

_ALWAYS_READ = frozenset(("exch", "cas"))  # the GPU has no form of them without a result
# What the GPU's assembler makes an instruction that counts, if the operand is this constant (not of add.s32).
_TALLIES: dict[tuple[str, ...], int] = {("add", "u32"): 1, ("inc", "u32"): 0xFFFFFFFF}
_STRONG = frozenset(("volatile", "relaxed", "acquire", "release", "acq_rel", "mmio"))


def address_reader(machine: Machine, address: Operand, line: int) -> tuple[Reader, int]:
    """A reader of the base register (or a constant base), and the byte offset to add."""
    if not isinstance(address, Address):
        raise PtxError(f"this address is not emulated: {shown(address)}", line)
    if isinstance(address.base, Register):
        width = machine.program.widths[address.base.index]
        return raw_reader(address.base, f"u{width}", machine.program.widths, line), address.offset
    start = machine.address_of(address.base, line) if address.base else 0
    fixed = constant(start + address.offset, "s64")
    return (lambda registers: fixed), 0


def site_of(machine: Machine, item: Instruction) -> Site:
    """The memory instruction as observers know it."""
    words = item.words
    op = "ld" if words[0] == "ldu" else words[0]
    unread = op == "atom" and isinstance(item.operands[0], Sink)
    if words[-1] not in WIDTHS:
        raise PtxError(f"this instruction is not emulated: {item.opcode}", item.line)
    kind = "red" if unread and not _ALWAYS_READ & set(words) else op
    space = "global" if item.space in ("const", "param") else item.space
    weak = not _STRONG & set(words)
    tallies = kind == "red" and space == "shared" and _TALLIES.get(words[-2:]) == _last_number(item)
    one_word = one_value = False
    if words[0] in ("atom", "red"):
        address, *values = item.operands[1 if words[0] == "atom" else 0 :]
        one_word = not operand_varies(address, machine.varying)
        one_value = not any(operand_varies(value, machine.varying) for value in values)
    decides = not weak and bool(deciding(machine.program) & sum(1 << index for index in writes(item, -1)))
    return Site(
        machine.next_site(), item.line, item.opcode, kind, space, WIDTHS[words[-1]] // 8, item.count, weak, tallies,
        one_word, one_value, decides, machine.program.requests.by_place.get(item.place),
    )  # fmt: skip


def _last_number(item: Instruction) -> int | None:
    """The last operand as an unsigned word, where it is a constant."""
    last = item.operands[-1]
    return int(last.value) & 0xFFFFFFFF if isinstance(last, Immediate) else None


def signed(value: Value) -> Value:
    """An address register as int64 (or the outer sum as it is)."""
    if value.__class__ is OuterSum:
        return value
    return value.view(np.int64) if value.dtype.itemsize == 8 else value.astype(np.int64)


def plain_address(raw: Value) -> Array:
    """An address as an int64 array."""
    return signed(plain(raw))  # type: ignore[no-any-return]

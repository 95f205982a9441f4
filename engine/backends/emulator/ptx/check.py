"""Whether a statement is PTX at all: the number, kinds and widths of its operands.

The compiler makes valid PTX, but it passes on the text of an asm statement unread. What is wrong there is said here,
in one sentence, before anything runs; the modules behind rely on it. Opcodes whose row has no form are left alone:
whether they are emulated shows when they are executed.
"""

from __future__ import annotations

from collections.abc import Sequence

from engine.backends.emulator.ptx.syntax import (
    WIDTHS,
    Address,
    Immediate,
    Instruction,
    InvalidPtx,
    Pair,
    PtxError,
    Register,
    Sink,
    Special,
    Symbol,
    Vector,
    shown,
)
from engine.backends.emulator.ptx.traits import Traits, traits_of

# A form: one letter an operand; what stands behind "?" may be left out.
_KINDS: dict[str, tuple[tuple[type, ...], str]] = {
    "d": ((Register, Sink, Vector), "a register"),
    "p": ((Register, Sink, Pair), "a register or a pair of registers"),
    "v": ((Register, Immediate, Special, Vector), "a register or a number"),
    "s": ((Register, Immediate, Special, Vector, Symbol), "a register, a number or a variable"),
    "a": ((Address,), "an address in square brackets"),
    "l": ((Symbol,), "a label"),
}


def check_instruction(item: Instruction, widths: Sequence[int]) -> None:
    """InvalidPtx where the statement is none, PtxError where its form is not emulated.

    `widths`: bits of the function's registers.
    """
    traits = traits_of(item.opcode)
    if traits.form is not None:
        _check_form(item, traits.form)
    if traits.choices:
        _check_choice(item, traits)
    if traits.check is not None:
        traits.check(item)
    for operand in item.operands if traits.form is not None else ():
        if isinstance(operand, Address) and isinstance(operand.base, Register) and widths[operand.base.index] < 32:
            raise InvalidPtx(f"the address of {item.opcode} is in a register of {widths[operand.base.index]} bits")


def _check_form(item: Instruction, form: str) -> None:
    wanted = form.replace("?", "")
    least = form.find("?") if "?" in form else len(wanted)
    given = len(item.operands)
    if not least <= given <= len(wanted):
        count = str(least) if least == len(wanted) else f"{least} to {len(wanted)}"
        noun = "operand" if count == "1" else "operands"
        raise InvalidPtx(f"{item.opcode} takes {count} {noun} and is given {given}")
    for operand, letter in zip(item.operands, wanted, strict=False):
        kinds, name = _KINDS[letter]
        if not isinstance(operand, kinds):
            raise InvalidPtx(f"{item.opcode} wants {name} where {shown(operand)} stands")
        parts = operand.items if isinstance(operand, Vector) else ()
        if any(isinstance(part, Vector | Address | Pair) for part in parts):
            raise InvalidPtx(f"{shown(operand)} is not a list of registers")


def _check_choice(item: Instruction, traits: Traits) -> None:
    """The word that says what kind of shuffle, vote or barrier it is."""
    words, at = item.words, len(traits.head.split("."))
    if len(words) <= at or words[at] not in traits.choices:
        raise InvalidPtx(f"{item.opcode} does not say which of {', '.join(traits.choices)} it is")


def typed_bits(item: Instruction) -> int:
    """The bits of the type that an opcode ends in. InvalidPtx where it ends in none, or in that of a predicate."""
    bits = WIDTHS.get(item.words[-1], 1)
    if bits == 1:
        raise InvalidPtx(f"{item.opcode} does not end in a type that {item.words[0]} takes")
    if bits == 128:
        raise PtxError(f"{item.opcode} moves 128 bits at once, which is not emulated")
    return bits


def ends_in_type(item: Instruction) -> None:
    """The `check` of opcodes that end in a type, with no other rule."""
    typed_bits(item)

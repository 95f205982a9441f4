"""Instructions that say where control goes, and at which a block waits: their rows, and what follows from them."""

from __future__ import annotations

from collections.abc import Collection, Mapping, Sequence

from engine.backends.emulator.ptx.syntax import Immediate, Instruction, InvalidPtx, Label, Symbol
from engine.backends.emulator.ptx.traits import Traits, describe, traits_of
from engine.catalogue.entries import MAX_BLOCK

_BARRIERS = 16


def check_barrier(item: Instruction) -> None:
    """InvalidPtx for a number or a count that no barrier has."""
    numbers = item.operands[1:] if "red" in item.words else item.operands
    for operand, name, most in zip(numbers, ("number", "count"), (_BARRIERS - 1, MAX_BLOCK), strict=False):
        if not isinstance(operand, Immediate):
            continue
        if not 0 <= operand.value <= most or operand.bits:
            raise InvalidPtx(f"the {name} of {item.opcode} is at most {most}")
        if name == "count" and operand.value % 32:
            raise InvalidPtx(f"the count of {item.opcode} is a multiple of 32 threads")


describe(
    Traits("bra", "l", writes=False, control="branch"),
    Traits("skip", writes=False, control="branch", issued=False),  # a jump around a guarded instruction, or a return
    Traits("brx", "vl", writes=False, control="switch"),
    Traits("ret", writes=False, control="exit"),
    Traits("exit", "", writes=False, control="exit"),
    Traits("trap", "", writes=False, control="trap"),
    Traits("brkpt", writes=False),
)
for _head in ("bar", "barrier"):
    describe(
        Traits(_head, writes=False, check=check_barrier, control="barrier"),
        Traits(f"{_head}.cluster.arrive", writes=False),
    )
    for _scope in (_head, f"{_head}.cta"):
        describe(
            Traits(f"{_scope}.sync", "v?v", check=check_barrier, writes=False, control="barrier"),
            Traits(f"{_scope}.arrive", "vv", check=check_barrier, writes=False, control="barrier"),
            # Its result is taken by an instruction of its own, which stands behind it once the kernel is linked.
            Traits(f"{_scope}.red", "dvv?v", ("popc", "and", "or"), check_barrier, writes=False, control="barrier"),
        )


def ends_block(item: Instruction) -> bool:
    """True for the last instruction of a basic block."""
    return bool(traits_of(item.opcode).control)


def stops(item: Instruction | None) -> bool:
    """True when control never goes on to the instruction behind."""
    if item is None:
        return False
    control = traits_of(item.opcode).control
    return control in ("exit", "trap", "switch", "return") or (control == "branch" and item.guard is None)


def targets(item: Instruction, tables: Mapping[str, tuple[str, ...]]) -> tuple[str, ...]:
    """The labels that an instruction may go to."""
    control = traits_of(item.opcode).control
    if control not in ("branch", "switch"):
        return ()
    target = item.operands[-1]
    assert isinstance(target, Symbol)  # its form was checked
    return (target.name,) if control == "branch" else tables[target.name]


def check_targets(body: Sequence[Instruction | Label], tables: Mapping[str, Collection[str]]) -> None:
    """InvalidPtx where a function branches to a label that it does not have."""
    labels = {item.name for item in body if isinstance(item, Label)}
    for item in body:
        if isinstance(item, Label):
            continue
        control = traits_of(item.opcode).control
        if control not in ("branch", "switch"):
            continue
        target = item.operands[-1]
        assert isinstance(target, Symbol)  # its form was checked
        names = tables.get(target.name) if control == "switch" else (target.name,)
        lost = target.name if names is None else next((name for name in names if name not in labels), None)
        if lost is not None:
            raise InvalidPtx(f"{item.opcode} goes to the label {lost}, which does not exist", item.line, item.place)

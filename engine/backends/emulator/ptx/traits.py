"""What an opcode is: its traits, the form of its operands, its control flow, and the registers it reads and writes.

One row of `Traits` describes a family of opcodes. A row stands beside the function that executes its instructions, or
here for control flow. An opcode belongs to the longest head that it begins with; an opcode without a row only computes:
it writes its first operand and reads the others.

The compiler makes valid PTX, but passes on the text of an asm statement unread. Errors there are reported here, in one
sentence, before anything runs, and later modules rely on it. Opcodes without a form are not checked.
"""

from __future__ import annotations

from collections.abc import Callable, Collection, Iterator, Mapping, Sequence
from dataclasses import dataclass
from functools import lru_cache
from typing import Literal

from engine.backends.emulator.ptx.special_registers import SPECIAL_REGISTERS
from engine.backends.emulator.ptx.syntax import (
    WIDTHS,
    Address,
    Group,
    Immediate,
    Instruction,
    InvalidPtx,
    Label,
    Operand,
    Pair,
    PtxError,
    Register,
    Sink,
    Special,
    Symbol,
    Vector,
    operand_text,
)
from engine.catalogue.entries import MAX_BLOCK


@dataclass(frozen=True)
class Traits:
    """A family of opcodes. `head`: the words that they begin with: "ld", "shfl.sync".

    `form`: the kinds of its operands, a letter each (see `_KINDS`); None: unchecked. `choices`: the word after the head
    is one of these. `check`: raises InvalidPtx or PtxError if a further rule is broken. `writes`: the first operand is
    written, unless it is an address. `updates`: it is read as well. `reads_carry`: it reads the condition code.
    `memory`: the kind of access; a "copy" reads global memory and writes shared memory later. `control`: it ends a
    basic block; for "branch" and "switch" the last operand is the target. `converges`: the lanes of a warp that must
    wait for each other here: the lanes "named" by its last operand, or the whole "warp". `waits`: lanes stop before it
    until their condition holds, or no other lane can run. `varies`: its result depends on the lane or on the active
    lanes. `unsteady`: its result also changes over time. `issued`: False for instructions that the emulator inserts and
    no GPU executes. `called`: its name in CUDA C++.
    """

    head: str
    form: str | None = None
    choices: tuple[str, ...] = ()
    check: Callable[[Instruction], None] | None = None
    writes: bool = True
    updates: bool = False
    reads_carry: bool = False
    memory: Literal["", "load", "store", "atomic", "copy"] = ""
    control: Literal["", "branch", "switch", "barrier", "call", "return", "exit", "trap"] = ""
    converges: Literal["", "named", "warp"] = ""
    waits: bool = False
    varies: bool = False
    unsteady: bool = False
    issued: bool = True
    called: str = ""


COMPUTING = Traits("")
_ROWS: dict[str, Traits] = {}


def describe(*rows: Traits) -> None:
    """Register rows. Asserts that each head has one row."""
    for row in rows:
        assert row.head and row.head not in _ROWS, f"{row.head} is described twice"
        _ROWS[row.head] = row
    traits_of.cache_clear()


@lru_cache(maxsize=4096)
def traits_of(opcode: str) -> Traits:
    """Return the row of an opcode; COMPUTING if it has none."""
    words = [word.split("::")[0] for word in opcode.split(".")]
    heads = (".".join(words[:count]) for count in range(len(words), 0, -1))
    return next((_ROWS[head] for head in heads if head in _ROWS), COMPUTING)


# A form: one letter per operand; operands after "?" are optional.
_KINDS: dict[str, tuple[tuple[type, ...], str]] = {
    "d": ((Register, Sink, Vector), "a register"),
    "p": ((Register, Sink, Pair), "a register or a pair of registers"),
    "v": ((Register, Immediate, Special, Vector), "a register or a number"),
    "s": ((Register, Immediate, Special, Vector, Symbol), "a register, a number or a variable"),
    "a": ((Address,), "an address in square brackets"),
    "m": ((Address,), "a map and coordinates in square brackets"),
    "l": ((Symbol,), "a label"),
}


def check_instruction(item: Instruction, widths: Sequence[int]) -> None:
    """Raise InvalidPtx if the statement is not PTX, PtxError if its form is not emulated.

    `widths`: bits of the function's registers.
    """
    traits = traits_of(item.opcode)
    mapped = any(isinstance(operand, Address) and operand.coordinates for operand in item.operands)
    if mapped and "m" not in (traits.form or ""):
        raise PtxError("a surface, a gather from a texture or a map for the copy engine is not emulated")
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
        raise InvalidPtx(f"{item.opcode} takes {count} {noun} but gets {given}")
    for operand, letter in zip(item.operands, wanted, strict=False):
        kinds, name = _KINDS[letter]
        if not isinstance(operand, kinds):
            raise InvalidPtx(f"{item.opcode} takes {name}, not {operand_text(operand)}")
        parts = operand.items if isinstance(operand, Vector) else ()
        if any(isinstance(part, Vector | Address | Pair) for part in parts):
            raise InvalidPtx(f"{operand_text(operand)} is not a list of registers")


def _check_choice(item: Instruction, traits: Traits) -> None:
    """Check the word that selects the kind of shuffle, vote or barrier."""
    words, at = item.words, len(traits.head.split("."))
    if len(words) <= at or words[at] not in traits.choices:
        raise InvalidPtx(f"{item.opcode} does not say which of {', '.join(traits.choices)} it is")


def typed_bits(item: Instruction) -> int:
    """Return the bits of the type that an opcode ends in. InvalidPtx if there is none, or if it is a predicate."""
    bits = WIDTHS.get(item.words[-1], 1)
    if bits == 1 and item.words[0] in ("atom", "red") and {"v2", "v4", "v8"} & {*item.words}:
        raise PtxError(f"{item.opcode} is an atomic of several elements, which is not emulated")
    if bits == 1:
        raise InvalidPtx(f"{item.opcode} does not end in a type that {item.words[0]} takes")
    if bits == 128:
        raise PtxError(f"{item.opcode} moves 128 bits at once, which is not emulated")
    return bits


def check_type(item: Instruction) -> None:
    """Check that the opcode ends in a type; used as `Traits.check`."""
    typed_bits(item)


_BARRIERS = 16


def check_barrier(item: Instruction) -> None:
    """Raise InvalidPtx if the barrier's number or count is a literal out of range."""
    numbers = item.operands[1:] if "red" in item.words else item.operands
    for operand, name in zip(numbers, ("number", "count"), strict=False):
        if isinstance(operand, Immediate):
            check_barrier_value(item, name, -1 if operand.bits else operand.value)


def check_barrier_value(item: Instruction, name: str, value: int) -> None:
    """Raise InvalidPtx if the barrier's "number" or "count" has a value out of range."""
    most = _BARRIERS - 1 if name == "number" else MAX_BLOCK
    if not 0 <= value <= most:
        raise InvalidPtx(f"the {name} of {item.opcode} is at most {most}", item.line)
    if name == "count" and value % 32:
        raise InvalidPtx(f"the count of {item.opcode} is a multiple of 32 threads", item.line)


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
            # A separate instruction takes its result; linking inserts it after this one.
            Traits(f"{_scope}.red", "dvv?v", ("popc", "and", "or"), check_barrier, writes=False, control="barrier"),
        )


def ends_block(item: Instruction) -> bool:
    """Return whether the instruction is the last of a basic block."""
    return bool(traits_of(item.opcode).control)


def never_falls_through(item: Instruction | None) -> bool:
    """Return whether control never continues to the next instruction. A trap ends the run, but the assembler lets the
    code continue behind it."""
    if item is None:
        return False
    control = traits_of(item.opcode).control
    return control in ("exit", "switch", "return") or (control == "branch" and item.guard is None)


def branch_targets(item: Instruction, tables: Mapping[str, tuple[str, ...]]) -> tuple[str, ...]:
    """Return the labels that an instruction may jump to."""
    control = traits_of(item.opcode).control
    if control not in ("branch", "switch"):
        return ()
    target = item.operands[-1]
    assert isinstance(target, Symbol)  # checked by its form
    return (target.name,) if control == "branch" else tables[target.name]


def check_targets(body: Sequence[Instruction | Label], tables: Mapping[str, Collection[str]]) -> None:
    """Raise InvalidPtx if a function branches to a missing label."""
    labels = {item.name for item in body if isinstance(item, Label)}
    for item in body:
        if isinstance(item, Label):
            continue
        control = traits_of(item.opcode).control
        if control not in ("branch", "switch"):
            continue
        target = item.operands[-1]
        assert isinstance(target, Symbol)  # checked by its form
        names = tables.get(target.name) if control == "switch" else (target.name,)
        lost = target.name if names is None else next((name for name in names if name not in labels), None)
        if lost is not None:
            raise InvalidPtx(f"{item.opcode} goes to the label {lost}, which does not exist", item.line, item.place)


def registers_of(operand: Operand) -> Iterator[int]:
    """Yield the registers that an operand names."""
    match operand:
        case Register(index):
            yield index
        case Address(base, _, coordinates):
            for part in (base, *coordinates) if isinstance(base, Register) else coordinates:
                yield from registers_of(part)
        case Vector(items) | Group(items):
            for item in items:
                yield from registers_of(item)
        case Pair(first, second):
            yield from registers_of(first)
            yield from registers_of(second)


_STRONG = frozenset(("volatile", "relaxed", "acquire", "mmio"))


def is_ordinary_load(item: Instruction) -> bool:
    """Return whether this is a load that observes no concurrent writes and orders nothing."""
    return item.words[0] == "ld" and not _STRONG & set(item.words)


def has_destination(item: Instruction) -> bool:
    """Return whether the first operand is written."""
    written = bool(item.operands) and not isinstance(item.operands[0], Address)
    return written and traits_of(item.opcode).writes


def tells_time(item: Instruction) -> bool:
    """Return whether the instruction reads a clock."""
    named = [SPECIAL_REGISTERS.get(operand.name) for operand in item.operands if isinstance(operand, Special)]
    return any(row is not None and row.differs == "time" for row in named)


def reads(item: Instruction, carry: int) -> Iterator[int]:
    """Yield the registers that an instruction reads. `carry`: the register that stands for the condition code."""
    traits = traits_of(item.opcode)
    for operand in item.operands[1 if has_destination(item) and not traits.updates else 0 :]:
        yield from registers_of(operand)
    if item.guard:
        yield item.guard.index
    if traits.reads_carry:
        yield carry


def writes(item: Instruction, carry: int) -> Iterator[int]:
    """Yield the registers that an instruction writes."""
    if has_destination(item):
        yield from registers_of(item.operands[0])
    if "cc" in item.words:
        yield carry


def uses_and_defs(items: tuple[Instruction, ...], carry: int) -> tuple[int, int]:
    """Return the bit sets of registers that are read before they are written, and that are written."""
    uses = defs = 0
    for item in items:
        for index in reads(item, carry):
            if not defs >> index & 1:
                uses |= 1 << index
        for index in writes(item, carry):
            defs |= 1 << index
    return uses, defs

"""A kernel of a Module -> Program: device functions inlined, basic blocks cut, live registers known.

Blocks are numbered in program order, so that "the group with the smallest program counter" is the group in the
lowest block. A block ends at a branch, a barrier or an exit, before every warp-synchronous instruction, where lanes may
have to wait for each other, and before every look at a clock, which so shows all instructions before it. Sets of
registers are bit sets in Python integers.
"""

from __future__ import annotations

from collections.abc import Iterator, Mapping
from dataclasses import dataclass, field, replace

from engine.backends.emulator.ptx.control import ends_block, stops, targets
from engine.backends.emulator.ptx.inlining import Inliner
from engine.backends.emulator.ptx.special_registers import SPECIAL_REGISTERS
from engine.backends.emulator.ptx.syntax import (
    Address,
    Group,
    Instruction,
    Label,
    Module,
    Operand,
    Pair,
    PtxError,
    Register,
    Sink,
    Special,
    Variable,
    Vector,
)
from engine.backends.emulator.ptx.traits import traits_of

_SEEN = {"volatile", "acquire", "relaxed"}  # loads that see what other lanes write meanwhile


@dataclass(frozen=True)
class BasicBlock:
    """A basic block. `uses`: registers read before written; `live_in`, `live_out`, `defs`: bit sets of registers.

    `terminator` is a branch, barrier or exit, or None when control falls through. `successors`: block numbers; for a
    conditional branch the taken one first.
    """

    index: int
    body: tuple[Instruction, ...]
    terminator: Instruction | None
    successors: tuple[int, ...]
    uses: int
    defs: int
    live_in: int
    live_out: int

    @property
    def line(self) -> int:
        """The .cu line of the block's end, which is where a loop decides."""
        last = self.terminator or (self.body[-1] if self.body else None)
        return last.line if last else 0


@dataclass(frozen=True)
class Request:
    """What the assembler asks of shared memory where the PTX has a load or store.

    `size`: bytes of a lane at once; 0: nothing, as another request brings them along. Where a loop's turns are joined,
    only one turn asks: the one where the address, moved by `shift`, is in the first `below` bytes of `size`.
    """

    size: int
    shift: int = 0
    below: int = 0


NO_REQUEST = Request(0)


@dataclass(frozen=True)
class Requests:
    """By the line of the PTX: what differs from the PTX. `unsure`: the .cu lines where it is not known."""

    by_place: Mapping[int, Request] = field(default_factory=dict)
    unsure: frozenset[int] = frozenset()


@dataclass(frozen=True, eq=False)  # only itself: what was found out about it is remembered
class Program:
    """A kernel ready to run. `carry` is the number of the register that stands for the carry flag.

    `requests`: where the assembler asks for something else of shared memory than the PTX says.
    """

    name: str
    params: tuple[Variable, ...]
    blocks: tuple[BasicBlock, ...]
    widths: tuple[int, ...]
    carry: int
    shared: tuple[Variable, ...]
    local: tuple[Variable, ...]
    constants: Mapping[str, Variable]  # module-level .global and .const variables
    requests: Requests = Requests()


def link(module: Module, name: str) -> Program:
    """The program of the kernel `name`. PtxError when there is no such kernel or it calls what cannot be inlined."""
    function = module.functions.get(name)
    if function is None or not function.entry:
        raise PtxError(f"the source has no kernel named {name}")
    inliner = Inliner(module, function)
    items = tuple(inliner.run())
    carry = len(inliner.widths)
    widths = (*inliner.widths, 32)
    blocks = tuple(_without_unread(block, carry) for block in _with_liveness(_cut(items, inliner.tables, carry)))
    shared = tuple(v for v in (*module.variables.values(), *inliner.locals) if v.space == "shared")
    local = tuple(v for v in inliner.locals if v.space == "local")
    constants = {k: v for k, v in module.variables.items() if v.space in ("global", "const")}
    return Program(name, function.params, blocks, widths, carry, _once(shared), local, constants)


def _once(variables: tuple[Variable, ...]) -> tuple[Variable, ...]:
    return tuple({variable.name: variable for variable in variables}.values())


def polls(program: Program, block: BasicBlock) -> bool:
    """True when the block closes a loop in which memory is read that other lanes may change."""
    if not block.successors or block.successors[0] > block.index:
        return False
    items = [item for each in program.blocks[block.successors[0] : block.index + 1] for item in each.body]
    return any(item.words[0] == "atom" or (item.words[0] == "ld" and _SEEN & set(item.words)) for item in items)


# ---- basic blocks


@dataclass
class _Open:
    """A block while it is being cut."""

    body: list[Instruction] = field(default_factory=list)
    terminator: Instruction | None = None


def _cut(items: tuple[Instruction | Label, ...], tables: Mapping[str, tuple[str, ...]], carry: int) -> list[BasicBlock]:
    wanted = {name for item in items if isinstance(item, Instruction) for name in targets(item, tables)}
    blocks, places, current = [_Open()], {}, _Open()
    blocks[0] = current
    for item in items:
        fresh = current.body or current.terminator
        if isinstance(item, Label):
            if item.name in wanted:
                if fresh:
                    current = _Open()
                    blocks.append(current)
                places[item.name] = len(blocks) - 1
            continue
        if current.terminator or (fresh and (traits_of(item.opcode).meets or tells_time(item))):
            current = _Open()
            blocks.append(current)
        if ends_block(item):
            current.terminator = item
        else:
            current.body.append(item)
    if not stops(blocks[-1].terminator):
        if blocks[-1].terminator:
            blocks.append(_Open())
        blocks[-1].terminator = Instruction("exit", (), None, 0)
    made = []
    for index, block in enumerate(blocks):
        after = block.terminator
        goes = tuple(places[name] for name in targets(after, tables)) if after else ()
        successors = goes if stops(after) else (*goes, index + 1)
        uses, defs = uses_and_defs((*block.body, after) if after else tuple(block.body), carry)
        made.append(BasicBlock(index, tuple(block.body), after, successors, uses, defs, 0, 0))
    return made


def registers_of(operand: Operand) -> Iterator[int]:
    """The registers that an operand names."""
    match operand:
        case Register(index):
            yield index
        case Address(Register(index)):
            yield index
        case Vector(items) | Group(items):
            for item in items:
                yield from registers_of(item)
        case Pair(first, second):
            yield from registers_of(first)
            yield from registers_of(second)


def has_destination(item: Instruction) -> bool:
    """True when the first operand is written."""
    written = bool(item.operands) and not isinstance(item.operands[0], Address)
    return written and traits_of(item.opcode).writes


def tells_time(item: Instruction) -> bool:
    """True when the instruction reads a clock."""
    named = [SPECIAL_REGISTERS.get(operand.name) for operand in item.operands if isinstance(operand, Special)]
    return any(row is not None and row.differs == "time" for row in named)


def reads(item: Instruction, carry: int) -> Iterator[int]:
    """The registers that an instruction reads. `carry`: the one that stands for the condition code."""
    for operand in item.operands[1 if has_destination(item) else 0 :]:
        yield from registers_of(operand)
    if item.guard:
        yield item.guard.index
    if traits_of(item.opcode).reads_carry:
        yield carry


def writes(item: Instruction, carry: int) -> Iterator[int]:
    """The registers that an instruction writes."""
    if has_destination(item):
        yield from registers_of(item.operands[0])
    if "cc" in item.words:
        yield carry


def uses_and_defs(items: tuple[Instruction, ...], carry: int) -> tuple[int, int]:
    """Bit sets of the registers that are read before they are written, and that are written."""
    uses = defs = 0
    for item in items:
        for index in reads(item, carry):
            if not defs >> index & 1:
                uses |= 1 << index
        for index in writes(item, carry):
            defs |= 1 << index
    return uses, defs


def _with_liveness(blocks: list[BasicBlock]) -> tuple[BasicBlock, ...]:
    live_in = [block.uses for block in blocks]
    live_out = [0] * len(blocks)
    changed = True
    while changed:
        changed = False
        for block in reversed(blocks):
            out = 0
            for successor in block.successors:
                out |= live_in[successor]
            before = block.uses | (out & ~block.defs)
            if out != live_out[block.index] or before != live_in[block.index]:
                live_out[block.index], live_in[block.index], changed = out, before, True
    return tuple(replace(b, live_in=live_in[b.index], live_out=live_out[b.index]) for b in blocks)


def _without_unread(block: BasicBlock, carry: int) -> BasicBlock:
    """An atomic gets no place for a result that nobody reads: the GPU's compiler then makes it a `red`."""
    body, live = list(block.body), block.live_out
    if block.terminator:
        live |= sum({1 << index for index in reads(block.terminator, carry)})
    for number, item in reversed(list(enumerate(body))):
        target = item.operands[0] if has_destination(item) else None
        if isinstance(target, Register) and traits_of(item.opcode).memory == "atomic" and not live >> target.index & 1:
            body[number] = replace(item, operands=(Sink(), *item.operands[1:]))
        for index in writes(item, carry):
            live &= ~(1 << index)
        for index in reads(item, carry):
            live |= 1 << index
    return replace(block, body=tuple(body))

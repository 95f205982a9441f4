"""A kernel of a Module -> Program: device functions inlined, basic blocks cut, live registers known.

Blocks are numbered in program order, so that "the group with the smallest program counter" is the group in the
lowest block. A block ends at a branch, a barrier or an exit, and before every warp-synchronous instruction, where
lanes may have to wait for each other. Sets of registers are bit sets in Python integers.
"""

from __future__ import annotations

from collections.abc import Iterator, Mapping
from dataclasses import dataclass, field, replace

from engine.backends.emulator.ptx.inlining import Inliner
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
    Symbol,
    Variable,
    Vector,
)

_NO_DESTINATION = frozenset((
    "st", "red", "bra", "skip", "brx", "bar", "barrier", "ret", "exit", "trap", "brkpt", "prefetch", "prefetchu",
    "membar", "fence", "nanosleep", "discard", "applypriority", "griddepcontrol", "pmevent", "cp", "setmaxnreg",
))  # fmt: skip
# Instructions at which lanes of a warp may have to wait for each other.
SYNCHRONOUS = (
    "shfl.sync", "vote.sync", "match.any.sync", "match.all.sync", "redux.sync", "bar.warp.sync", "elect.sync",
)  # fmt: skip


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
class Program:
    """A kernel ready to run. `carry` is the number of the register that stands for the carry flag."""

    name: str
    params: tuple[Variable, ...]
    blocks: tuple[BasicBlock, ...]
    widths: tuple[int, ...]
    carry: int
    shared: tuple[Variable, ...]
    local: tuple[Variable, ...]
    constants: Mapping[str, Variable]  # module-level .global and .const variables


def link(module: Module, name: str) -> Program:
    """The program of the kernel `name`. PtxError when there is no such kernel or it calls what cannot be inlined."""
    function = module.functions.get(name)
    if function is None or not function.entry:
        raise PtxError(f"the source has no kernel named {name}")
    inliner = Inliner(module, function)
    items = tuple(inliner.run())
    carry = len(inliner.widths)
    widths = (*inliner.widths, 32)
    blocks = _with_liveness(_cut(items, inliner.tables, carry))
    shared = tuple(v for v in (*module.variables.values(), *inliner.locals) if v.space == "shared")
    local = tuple(v for v in inliner.locals if v.space == "local")
    constants = {k: v for k, v in module.variables.items() if v.space in ("global", "const")}
    return Program(name, function.params, blocks, widths, carry, _once(shared), local, constants)


def _once(variables: tuple[Variable, ...]) -> tuple[Variable, ...]:
    return tuple({variable.name: variable for variable in variables}.values())


# ---- basic blocks


@dataclass
class _Open:
    """A block while it is being cut."""

    body: list[Instruction] = field(default_factory=list)
    terminator: Instruction | None = None


def _cut(items: tuple[Instruction | Label, ...], tables: Mapping[str, tuple[str, ...]], carry: int) -> list[BasicBlock]:
    wanted = {name for item in items if isinstance(item, Instruction) for name in _targets(item, tables)}
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
        if current.terminator or (item.opcode.startswith(SYNCHRONOUS) and fresh):
            current = _Open()
            blocks.append(current)
        if _ends_block(item):
            current.terminator = item
        else:
            current.body.append(item)
    if not _stops(blocks[-1].terminator):
        if blocks[-1].terminator:
            blocks.append(_Open())
        blocks[-1].terminator = Instruction("exit", (), None, 0)
    made = []
    for index, block in enumerate(blocks):
        after = block.terminator
        goes = tuple(places[name] for name in _targets(after, tables)) if after else ()
        successors = goes if _stops(after) else (*goes, index + 1)
        uses, defs = _uses_and_defs((*block.body, after) if after else tuple(block.body), carry)
        made.append(BasicBlock(index, tuple(block.body), after, successors, uses, defs, 0, 0))
    return made


def _stops(item: Instruction | None) -> bool:
    """True when control never goes on to the instruction behind."""
    if item is None:
        return False
    head = item.opcode.split(".", 1)[0]
    return head in ("ret", "exit", "trap", "brx") or (head in ("bra", "skip") and item.guard is None)


def _targets(item: Instruction, tables: Mapping[str, tuple[str, ...]]) -> tuple[str, ...]:
    head = item.opcode.split(".", 1)[0]
    if head in ("bra", "skip"):
        assert isinstance(item.operands[0], Symbol)
        return (item.operands[0].name,)
    if head == "brx":
        assert isinstance(item.operands[1], Symbol)
        return tables[item.operands[1].name]
    return ()


def is_barrier(opcode: str) -> bool:
    """True for an instruction at which a whole block waits."""
    words = opcode.split(".")
    return words[0] in ("bar", "barrier") and "warp" not in words and "arrive" not in words


def _ends_block(item: Instruction) -> bool:
    head = item.opcode.split(".", 1)[0]
    return head in ("bra", "skip", "brx", "ret", "exit", "trap") or is_barrier(item.opcode)


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
    head = item.opcode.split(".", 1)[0]
    return bool(item.operands) and head not in _NO_DESTINATION and not isinstance(item.operands[0], Address)


def _uses_and_defs(items: tuple[Instruction, ...], carry: int) -> tuple[int, int]:
    uses = defs = 0
    for item in items:
        made = 1 if has_destination(item) else 0
        read = {index for operand in item.operands[made:] for index in registers_of(operand)}
        if item.guard:
            read.add(item.guard.index)
        wrote = set(registers_of(item.operands[0])) if made else set()
        words = item.words
        if words[0] in ("addc", "subc", "madc"):
            read.add(carry)
        if "cc" in words:
            wrote.add(carry)
        for index in read:
            if not defs >> index & 1:
                uses |= 1 << index
        for index in wrote:
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

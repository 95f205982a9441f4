"""Link a kernel of a Module into a Program: inline device functions, cut basic blocks, compute live registers.

The group in the block with the smallest number runs first (`block_order`); blocks of called functions follow the
kernel's. A block ends at a branch, call, barrier or exit, before every
warp-synchronous instruction, where lanes may wait for each other, and before every read of a clock, which thus counts
all instructions before it. Sets of registers are bit sets in Python integers.
"""

from __future__ import annotations

from collections.abc import Iterable, Iterator, Mapping, Sequence
from dataclasses import dataclass, field, replace
from functools import cached_property, lru_cache
from itertools import accumulate, pairwise
from typing import Literal

from engine.backends.emulator.ptx.block_order import running_order
from engine.backends.emulator.ptx.calls import Callee, argument_moves
from engine.backends.emulator.ptx.inlining import Inliner, with_known_parameters
from engine.backends.emulator.ptx.special_registers import RESERVED_PLACE
from engine.backends.emulator.ptx.syntax import (
    Address,
    Group,
    Immediate,
    Instruction,
    Label,
    Module,
    Operand,
    PtxError,
    Register,
    Sink,
    Special,
    Symbol,
    Variable,
    Vector,
)
from engine.backends.emulator.ptx.traits import (
    branch_targets,
    ends_block,
    has_destination,
    never_falls_through,
    reads,
    tells_time,
    traits_of,
    uses_and_defs,
    writes,
)


@dataclass(frozen=True)
class MachineRequest:
    """The assembler's request for a load or store of the PTX.

    `size`: bytes per lane; 0: none, because another request serves this access. If iterations of a loop are combined,
    only one of them makes a request: the one whose address, plus `shift`, lies in the first `below` bytes of `size`.
    `pieces`: (offset, size) of each request that the assembler makes of one access whose other parts nobody uses.
    """

    size: int
    shift: int = 0
    below: int = 0
    pieces: tuple[tuple[int, int], ...] = ()


NO_REQUEST = MachineRequest(0)


Ahead = Literal["none", "those of one turn", "all"]


@dataclass(frozen=True)
class UnrolledLoop:
    """A loop from its first block to its last. `ahead`: the lanes whose first turn is in front of the unrolled
    pieces."""

    first: int
    last: int
    ahead: Ahead = "none"


@dataclass(frozen=True)
class MachineRequests:
    """The requests that differ from the PTX, by PTX line.

    .cu lines: `unsure`, with unknown requests; `looped`, with an atomic that is a loop in the machine code. `unrolled`:
    the loop around an access, by its PTX line, if the assembler unrolls it.
    """

    by_place: Mapping[int, MachineRequest] = field(default_factory=dict)
    unsure: frozenset[int] = frozenset()
    looped: frozenset[int] = frozenset()
    unrolled: Mapping[int, UnrolledLoop] = field(default_factory=dict)


_STRONG = {"volatile", "acquire", "relaxed"}  # loads that observe concurrent writes
_FLAGS = {*_STRONG, "release"}


@dataclass(frozen=True)
class BasicBlock:
    """A basic block. `uses`: registers read before written; `live_in`, `live_out`, `defs`: bit sets of registers.

    `terminator` is a branch, barrier or exit, or None if control falls through. `successors`: block numbers; for a
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
    def items(self) -> tuple[Instruction, ...]:
        """Return the instructions with the terminator."""
        return (*self.body, self.terminator) if self.terminator else self.body

    @property
    def issued(self) -> tuple[Instruction, ...]:
        """Return the instructions without those that the emulator inserts and no GPU executes."""
        return tuple(item for item in self.items if traits_of(item.opcode).issued)

    @property
    def line(self) -> int:
        """Return the .cu line of the block's end; a loop decides there."""
        last = self.terminator or (self.body[-1] if self.body else None)
        return last.line if last else 0


@dataclass(frozen=True, eq=False)  # compared by identity, so it can be a cache key
class Program:
    """A kernel ready to run. `carry`: the number of the register that stands for the carry flag.

    `requests`: the shared memory requests that differ from the PTX. `callees`: the functions called at run time;
    `passed`: the moves of their calls; `deepest`: the most open calls, None with recursion. `functions`: all device
    functions of the module. `placed`: the parameters read at computed addresses. `cut`: see `cut_at_atomics`.
    `optimised`: the assembler may join products and sums.
    """

    name: str
    params: tuple[Variable, ...]
    blocks: tuple[BasicBlock, ...]
    widths: tuple[int, ...]
    carry: int
    shared: tuple[Variable, ...]
    local: tuple[Variable, ...]
    constants: Mapping[str, Variable]  # module-level .global and .const variables
    requests: MachineRequests = field(default_factory=MachineRequests)
    callees: Mapping[str, Callee] = field(default_factory=dict)
    passed: tuple[Instruction, ...] = ()
    deepest: int | None = 0
    functions: tuple[str, ...] = ()
    placed: tuple[Variable, ...] = ()
    cut: bool = False
    optimised: bool = True

    @cached_property
    def waits(self) -> bool:
        """Return whether a loop polls memory, or flags in global memory are read without a loop."""
        flags = (item for item in self.instructions if item.words[0] == "ld" and _STRONG & set(item.words))
        return any(item.space in ("global", "") for item in flags) or any(polls(self, block) for block in self.blocks)

    @cached_property
    def asks_who_is_active(self) -> bool:
        """Return whether it asks which lanes of a warp are active, for example with __activemask()."""
        return any(item.words[0] == "activemask" for item in self.instructions)

    @cached_property
    def reads_reserved(self) -> bool:
        """Return whether it asks where the GPU's own shared memory begins, in which groups of several warps meet."""
        return any(operand == Special(RESERVED_PLACE) for item in self.instructions for operand in item.operands)

    @property
    def unset(self) -> int:
        """Return the bit set of registers that a thread may read before it has written them."""
        return self.blocks[0].live_in & ~(1 << self.carry)

    def block_at(self, place: int) -> BasicBlock:
        """Return the block at a place. In a call, a place is a block number minus a multiple of the block count."""
        return self.blocks[place % len(self.blocks)]

    @cached_property
    def instructions(self) -> tuple[Instruction, ...]:
        """Return all instructions that compute or move values, including the moves of calls."""
        return (*(item for block in self.blocks for item in block.body), *self.passed)

    @cached_property
    def registers_read(self) -> frozenset[int]:
        """Return the registers that any of these instructions reads."""
        return frozenset(index for item in self.instructions for index in reads(item, self.carry))

    @cached_property
    def in_callees(self) -> frozenset[int]:
        """Return the blocks of the called functions."""
        start = min((callee.entry for callee in self.callees.values()), default=len(self.blocks))
        return frozenset(range(start, len(self.blocks)))


def link(module: Module, name: str) -> Program:
    """Return the program of the kernel `name`. PtxError if the kernel is missing or contains an unsupported call."""
    function = module.functions.get(name)
    if function is None or not function.entry:
        raise PtxError(f"the source has no kernel named {name}")
    inliner = Inliner(module, function)
    items = with_known_parameters(tuple(inliner.run()), {param.name for param in function.params})
    carry = len(inliner.widths)
    widths = (*inliner.widths, 32)
    cut, places = _cut_blocks(items, inliner.tables, carry, inliner.entries)
    blocks = tuple(_without_unread(block, carry) for block in _with_liveness(cut))
    named = {name for block in blocks for item in block.items for each in item.operands for name in _names(each)}
    shared = tuple(
        v for v in (*module.variables.values(), *inliner.locals) if v.space == "shared" and v.name in named
    )  # without the arrays of other kernels
    local = tuple(v for v in inliner.locals if v.space == "local")
    constants = {k: v for k, v in module.variables.items() if v.space in ("global", "const")}
    entries = {callee: places[label] for label, callee in inliner.entries.items()}
    callees = {each.name: replace(each, entry=entries[each.name]) for each in inliner.callees.values()}
    functions = tuple(each.name for each in module.functions.values() if not each.entry)
    moves = tuple(argument_moves([block.terminator for block in blocks if block.terminator], callees))
    deepest = None if inliner.graph.recursive else inliner.graph.depth
    return Program(
        name, function.params, blocks, widths, carry, _unique(shared), local, constants, MachineRequests(), callees,
        moves, deepest, functions, _addressed_parameters(function.params, blocks),
    )  # fmt: skip


def _names(operand: Operand) -> Iterator[str]:
    """Return the names of variables, parameters and functions in an operand."""
    match operand:
        case Symbol(name=name) | Address(base=Symbol(name=name)):
            yield name
        case Vector(items=items) | Group(items=items):
            for each in items:
                yield from _names(each)


def _addressed_parameters(params: tuple[Variable, ...], blocks: tuple[BasicBlock, ...]) -> tuple[Variable, ...]:
    """Return the parameters whose address is in a register."""
    operands = (each for block in blocks for item in block.body for each in item.operands)
    named = {each.name for each in operands if isinstance(each, Symbol)}
    return tuple(param for param in params if param.name in named)


def _unique(variables: tuple[Variable, ...]) -> tuple[Variable, ...]:
    return tuple({variable.name: variable for variable in variables}.values())


def polls(program: Program, block: BasicBlock) -> bool:
    """Return whether the block closes a loop that reads memory other lanes may change."""
    if not block.successors or block.successors[0] > block.index:
        return False
    items = [item for each in program.blocks[block.successors[0] : block.index + 1] for item in each.body]
    return any(item.words[0] == "atom" or (item.words[0] == "ld" and _STRONG & set(item.words)) for item in items)


def swaps(program: Program, block: BasicBlock) -> bool:
    """Return whether the block closes a loop around a compare-and-swap that expects a value found in the loop: when
    lanes fail, another one has succeeded. A lock expects a constant."""
    if not polls(program, block):
        return False
    items = [item for each in program.blocks[block.successors[0] : block.index + 1] for item in each.body]
    found = (item for item in items if not (item.words[0] == "mov" and isinstance(item.operands[1], Immediate)))
    written = {index for item in found for index in writes(item, program.carry)}
    expected = (item.operands[2] for item in items if item.words[0] == "atom" and "cas" in item.words)
    return any(isinstance(each, Register) and each.index in written for each in expected)


# ---- basic blocks


@dataclass
class _OpenBlock:
    """A block under construction."""

    body: list[Instruction] = field(default_factory=list)
    terminator: Instruction | None = None


def _cut_blocks(
    items: Sequence[Instruction | Label], tables: Mapping[str, tuple[str, ...]], carry: int, entries: Iterable[str]
) -> tuple[list[BasicBlock], dict[str, int]]:
    """Return the basic blocks, and the block of each needed label, including those of `entries`."""
    wanted = {name for item in items if isinstance(item, Instruction) for name in branch_targets(item, tables)} | {
        *entries
    }
    blocks, current = [_OpenBlock()], _OpenBlock()
    places: dict[str, int] = {}
    blocks[0] = current
    for item in items:
        fresh = current.body or current.terminator
        if isinstance(item, Label):
            if item.name in wanted:
                if fresh:
                    current = _OpenBlock()
                    blocks.append(current)
                places[item.name] = len(blocks) - 1
            continue
        if current.terminator or (fresh and _begins_block(item)):
            current = _OpenBlock()
            blocks.append(current)
        if ends_block(item):
            current.terminator = item
        else:
            current.body.append(item)
    if not never_falls_through(blocks[-1].terminator):
        if blocks[-1].terminator:
            blocks.append(_OpenBlock())
        blocks[-1].terminator = Instruction("exit", (), None, 0)
    made, starts = [], {places[name] for name in entries}
    for index, block in enumerate(blocks):
        after = block.terminator
        goes = tuple(places[name] for name in branch_targets(after, tables)) if after else ()
        ends = never_falls_through(after) or index + 1 in starts  # a function may end with a trap
        successors = goes if ends else (*goes, index + 1)
        uses, defs = uses_and_defs((*block.body, after) if after else tuple(block.body), carry)
        made.append(BasicBlock(index, tuple(block.body), after, successors, uses, defs, 0, 0))
    order = running_order([block.successors for block in made], {0, *starts})
    new = {old: index for index, old in enumerate(order)}
    blocks_in_order = [
        replace(made[old], index=index, successors=tuple(new[place] for place in made[old].successors))
        for index, old in enumerate(order)
    ]
    return blocks_in_order, {name: new[place] for name, place in places.items()}


def _begins_block(item: Instruction) -> bool:
    """Return whether lanes may have to wait here, or a clock is read."""
    traits = traits_of(item.opcode)
    return bool(traits.converges) or traits.waits or tells_time(item)


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


# ---- atomics apart


@lru_cache(maxsize=64)
def cut_at_atomics(program: Program) -> Program:
    """Return the program with a basic block for each atomic: lanes may run between two atomics of another lane.

    If it waits, every access to a flag begins a basic block. It is the same program if it does not wait and no basic
    block has two atomics.
    """
    pieces = [_pieces(block.body, program.waits) for block in program.blocks]
    if not program.waits and all(len(each) == 1 for each in pieces):
        return program
    starts = [0, *accumulate(map(len, pieces))]
    made: list[BasicBlock] = []
    for block, bodies in zip(program.blocks, pieces, strict=True):
        for number, body in enumerate(bodies, start=1):
            index, last = len(made), number == len(bodies)
            end = block.terminator if last else None
            after = tuple(starts[place] for place in block.successors) if last else (index + 1,)
            uses, defs = uses_and_defs((*body, end) if end else body, program.carry)
            made.append(BasicBlock(index, body, end, after, uses, defs, 0, 0))
    callees = {name: replace(one, entry=starts[one.entry]) for name, one in program.callees.items()}
    return replace(program, blocks=_with_liveness(made), callees=callees, cut=True)


def flag_access(body: Iterable[Instruction]) -> str:
    """Return "write" or "read" if instructions may write or read a flag that other lanes poll, else "": by an atomic,
    or a volatile, relaxed, acquire or release access."""
    flags = [item for item in body if _FLAGS & {*item.words} or traits_of(item.opcode).memory == "atomic"]
    writes_one = any(item.words[0] == "st" or traits_of(item.opcode).memory == "atomic" for item in flags)
    return "write" if writes_one else "read" if any(item.words[0] == "ld" for item in flags) else ""


def _pieces(body: tuple[Instruction, ...], waits: bool) -> list[tuple[Instruction, ...]]:
    """Return the instructions of a basic block in pieces: with one atomic each, or if the program waits, with the
    access to a flag first."""
    places = [place for place, item in enumerate(body) if traits_of(item.opcode).memory == "atomic"][1:]
    if waits:
        places = [place for place, item in enumerate(body) if place and flag_access((item,))]
    return [body[start:end] for start, end in pairwise((0, *places, len(body)))]


def _without_unread(block: BasicBlock, carry: int) -> BasicBlock:
    """Drop unused results of atomics: the GPU's compiler turns such an atomic into a `red`."""
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

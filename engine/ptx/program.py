"""A kernel of a Module -> Program: device functions inlined, basic blocks cut, live registers known.

Blocks are numbered in program order, so that "the group with the smallest program counter" is the group in the
lowest block. A block ends at a branch, a barrier or an exit, and before every warp-synchronous instruction, where
lanes may have to wait for each other. Sets of registers are bit sets in Python integers.
"""

from __future__ import annotations

from collections.abc import Iterator, Mapping
from dataclasses import dataclass, field, replace

from engine.ptx.memory import readable
from engine.ptx.syntax import (
    WIDTHS,
    Address,
    Function,
    Group,
    Instruction,
    InvalidPtx,
    Label,
    Module,
    Operand,
    Pair,
    PtxError,
    Register,
    Symbol,
    Variable,
    Vector,
)  # fmt: skip

_NO_DESTINATION = frozenset((
    "st", "red", "bra", "skip", "brx", "bar", "barrier", "ret", "exit", "trap", "brkpt", "prefetch", "prefetchu",
    "membar", "fence", "nanosleep", "discard", "applypriority", "griddepcontrol", "pmevent", "cp", "setmaxnreg",
))  # fmt: skip
# Instructions at which lanes of a warp may have to wait for each other.
SYNCHRONOUS = (
    "shfl.sync", "vote.sync", "match.any.sync", "match.all.sync", "redux.sync", "bar.warp.sync", "elect.sync",
)  # fmt: skip
CARRY = "the carry flag"
_LEAST_ARGUMENTS = {"vprintf": 2, "__assertfail": 2}  # the functions of the CUDA runtime that are emulated


@dataclass(frozen=True)
class Block:
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
    blocks: tuple[Block, ...]
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
    inliner = _Inliner(module, function)
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


# ---- inlining


@dataclass
class _Frame:
    """One inlined call: what its registers, labels and symbols are called in the kernel."""

    function: Function
    base: int
    names: dict[str, str]
    line: int
    depth: tuple[str, ...]
    suffix: str = ""


@dataclass
class _Inliner:
    module: Module
    entry: Function
    widths: list[int] = field(default_factory=list)
    locals: list[Variable] = field(default_factory=list)
    tables: dict[str, tuple[str, ...]] = field(default_factory=dict)
    slots: dict[tuple[str, int], int] = field(default_factory=dict)
    calls: int = 0

    def run(self) -> Iterator[Instruction | Label]:
        self.entry_params = {param.name for param in self.entry.params}
        yield from self._function(_Frame(self.entry, 0, {}, self.entry.line, (self.entry.name,)))

    def _function(self, frame: _Frame) -> Iterator[Instruction | Label]:
        function = frame.function
        frame.base = len(self.widths)
        self.widths.extend(function.widths)
        for variable in function.variables:
            if variable.space == "local":
                frame.names[variable.name] = variable.name + frame.suffix
            self.locals.append(replace(variable, name=frame.names.get(variable.name, variable.name)))
        for label, targets in function.tables.items():
            self.tables[label + frame.suffix] = tuple(target + frame.suffix for target in targets)
        for item in function.body:
            if isinstance(item, Label):
                yield Label(item.name + frame.suffix)
            else:
                yield from self._instruction(frame, item)
        if frame.suffix:
            yield Label("end" + frame.suffix)

    def _instruction(self, frame: _Frame, item: Instruction) -> Iterator[Instruction | Label]:
        head = item.opcode.split(".", 1)[0]
        line = item.line or frame.line
        branch = head in ("bra", "brx")
        operands = tuple(self._operand(frame, operand, branch) for operand in item.operands)
        guard = item.guard and Register(item.guard.index + frame.base, item.guard.negated)
        new = Instruction(item.opcode, operands, guard, line, item.place)
        if branch or guard is None:
            yield from self._expand(frame, new, head)
            return
        # A guarded instruction is the instruction behind a branch around it; only a guarded exit counts as a branch.
        self.calls += 1
        past = f"past@{self.calls}"
        hop = "bra" if head in ("ret", "exit") else "skip"
        yield Instruction(hop, (Symbol(past),), Register(guard.index, not guard.negated), line)
        yield from self._expand(frame, replace(new, guard=None), head)
        yield Label(past)

    def _expand(self, frame: _Frame, item: Instruction, head: str) -> Iterator[Instruction | Label]:
        if head == "ret" and frame.suffix:
            yield Instruction("skip", (Symbol("end" + frame.suffix),), None, item.line)
        elif head == "call":
            yield from self._call(frame, item)
        elif item.opcode.startswith(("ld.param", "st.param")):
            yield from self._parameter(item)
        elif item.opcode.startswith(("bar.red", "barrier.red", "bar.cta.red", "barrier.cta.red")):
            yield replace(item, operands=item.operands[1:])
            yield Instruction("bar_result." + item.opcode, item.operands[:1], None, item.line)
        else:
            yield item

    def _parameter(self, item: Instruction) -> Iterator[Instruction]:
        """A parameter of an inlined call is a register; a parameter of the kernel stays a load."""
        load = item.opcode.startswith("ld")
        register, address = item.operands if load else item.operands[::-1]
        if not isinstance(address, Address) or not isinstance(address.base, Symbol):
            raise PtxError("a parameter at a computed address is not emulated", item.line)
        if address.base.name in self.entry_params:
            yield item
            return
        suffix = item.opcode.rsplit(".", 1)[1]
        size = WIDTHS[suffix] // 8
        parts = register.items if isinstance(register, Vector) else (register,)
        for number, part in enumerate(parts):
            offset = address.base.offset + address.offset + number * size
            slot = self._slot(address.base.name, offset, max(16, WIDTHS[suffix]), item.line)
            pair = (part, slot) if load else (slot, part)
            yield Instruction(f"mov.b{max(16, WIDTHS[suffix])}", pair, None, item.line)

    def _slot(self, name: str, offset: int, width: int, line: int) -> Register:
        index = self.slots.get((name, offset))
        if index is None:
            index = self.slots[(name, offset)] = len(self.widths)
            self.widths.append(width)
        elif self.widths[index] != width:
            raise PtxError("a structure that is passed in one piece and read in another is not emulated", line)
        return Register(index)

    def _call(self, frame: _Frame, item: Instruction) -> Iterator[Instruction | Label]:
        groups = [operand for operand in item.operands if isinstance(operand, Group)]
        target = next((operand for operand in item.operands if not isinstance(operand, Group)), None)
        returns = groups[0] if groups and item.operands[0] is groups[0] else Group(())
        arguments = groups[-1] if groups and (len(groups) == 2 or not returns.items) else Group(())
        if not isinstance(target, Symbol):
            clause = "a call through a function pointer, or of a virtual function, is not emulated"
            raise PtxError(clause, item.line, item.place)
        names = [operand.name for operand in arguments.items if isinstance(operand, Symbol)]
        results = [operand.name for operand in returns.items if isinstance(operand, Symbol)]
        function = self.module.functions.get(target.name)
        if function is None:
            if target.name not in _LEAST_ARGUMENTS:
                yield Instruction(f"call.{target.name}", (), None, item.line, item.place)
                return
            made = [register for name in names for register in self._slots_of(name)]
            if len(made) < _LEAST_ARGUMENTS[target.name]:
                raise InvalidPtx(f"a call of {target.name} lacks arguments", item.line, item.place)
            back = [self._slot(name, 0, 32 if target.name == "vprintf" else 64, item.line) for name in results]
            yield Instruction(f"call.{target.name}", (Group(tuple(back)), *made), None, item.line, item.place)
            return
        if function.name in frame.depth:
            name = readable(function.name)
            raise PtxError(
                f"{name} calls itself; recursion is not emulated",
                item.line,
                advice="write it as a loop, or run it on a GPU",
            )
        self.calls += 1
        if (len(names), len(results)) != (len(function.params), len(function.returns)):
            raise InvalidPtx(f"a call of {function.name} passes other arguments than it takes", item.line, item.place)
        inner = dict(zip((v.name for v in function.params), names, strict=True))
        inner.update(zip((v.name for v in function.returns), results, strict=True))
        suffix = f"@{self.calls}"
        yield from self._function(_Frame(function, 0, inner, item.line, (*frame.depth, function.name), suffix))

    def _slots_of(self, name: str) -> list[Register]:
        return [Register(index) for (owner, _), index in sorted(self.slots.items()) if owner == name]

    def _operand(self, frame: _Frame, operand: Operand, branch: bool) -> Operand:
        match operand:
            case Register(index, negated):
                return Register(index + frame.base, negated) if frame.base else operand
            case Symbol(name, offset):
                if branch:
                    return Symbol(name + frame.suffix)
                # A call's own parameter symbols are made unique per inlined copy of the caller.
                renamed = frame.names.get(name, name + frame.suffix if "#" in name else name)
                return Symbol(renamed, offset)
            case Address(base, offset) if base is not None:
                inner = self._operand(frame, base, branch)
                assert isinstance(inner, Register | Symbol)
                return Address(inner, offset)
            case Vector(items):
                return Vector(tuple(self._operand(frame, item, branch) for item in items))
            case Group(items):
                return Group(tuple(self._operand(frame, item, branch) for item in items))
            case Pair(first, second):
                return Pair(self._operand(frame, first, branch), self._operand(frame, second, branch))
        return operand


# ---- basic blocks


@dataclass
class _Open:
    """A block while it is being cut."""

    body: list[Instruction] = field(default_factory=list)
    terminator: Instruction | None = None


def _cut(items: tuple[Instruction | Label, ...], tables: Mapping[str, tuple[str, ...]], carry: int) -> list[Block]:
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
        made.append(Block(index, tuple(block.body), after, successors, uses, defs, 0, 0))
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


def _with_liveness(blocks: list[Block]) -> tuple[Block, ...]:
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

"""Device functions inlined: the statements of a kernel and of all that it calls, as one list.

Registers, labels and local variables of each copy get names of their own. The parameters of a call become registers.
"""

from __future__ import annotations

from collections.abc import Iterator
from dataclasses import dataclass, field, replace

from engine.backends.emulator.ptx.syntax import (
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
)
from engine.backends.emulator.ptx.traits import Traits, traits_of
from engine.compile.names import readable

_LEAST_ARGUMENTS = {"vprintf": 2, "__assertfail": 2}  # the functions of the CUDA runtime that are emulated
_MOST_CALLS = 20_000  # copies of functions, and guarded instructions, in one kernel


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
class Inliner:
    """Makes one kernel of a function and of all that it calls. `widths`, `locals`, `tables`: what that kernel has.

    `slots`: the register that stands for a call's parameter, by its name and the byte in it; `calls`: copies and
    guarded instructions so far.
    """

    module: Module
    entry: Function
    widths: list[int] = field(default_factory=list)
    locals: list[Variable] = field(default_factory=list)
    tables: dict[str, tuple[str, ...]] = field(default_factory=dict)
    slots: dict[tuple[str, int], int] = field(default_factory=dict)
    calls: int = 0

    def __post_init__(self) -> None:
        self._entry_params = {param.name for param in self.entry.params}

    def run(self) -> Iterator[Instruction | Label]:
        """The statements of the kernel. PtxError for a call that cannot be inlined."""
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
        line = item.line or frame.line
        traits = traits_of(item.opcode)
        branch = traits.control in ("branch", "switch")
        operands = tuple(self._operand(frame, operand, branch) for operand in item.operands)
        guard = item.guard and Register(item.guard.index + frame.base, item.guard.negated)
        new = Instruction(item.opcode, operands, guard, line, item.place)
        if branch or guard is None:
            yield from self._expand(frame, new, traits)
            return
        # A guarded instruction is the instruction behind a branch around it; only a guarded exit counts as a branch.
        self.calls += 1
        past = f"past@{self.calls}"
        hop = "bra" if traits.control == "exit" else "skip"
        yield Instruction(hop, (Symbol(past),), Register(guard.index, not guard.negated), line)
        yield from self._expand(frame, replace(new, guard=None), traits)
        yield Label(past)

    def _expand(self, frame: _Frame, item: Instruction, traits: Traits) -> Iterator[Instruction | Label]:
        if traits.head == "ret" and frame.suffix:
            yield Instruction("skip", (Symbol("end" + frame.suffix),), None, item.line)
        elif traits.head == "call":
            yield from self._call(frame, item)
        elif traits.head in ("ld.param", "st.param"):
            yield from self._parameter(item)
        elif traits.control == "barrier" and "red" in item.words:
            yield replace(item, operands=item.operands[1:])
            yield Instruction("bar_result." + item.opcode, item.operands[:1], None, item.line)
        else:
            yield item

    def _parameter(self, item: Instruction) -> Iterator[Instruction]:
        """A parameter of an inlined call is a register; a parameter of the kernel stays a load."""
        load = traits_of(item.opcode).writes
        register, address = item.operands if load else item.operands[::-1]
        if not isinstance(address, Address) or not isinstance(address.base, Symbol):
            raise PtxError("a parameter at a computed address is not emulated", item.line)
        if address.base.name in self._entry_params:
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
        if self.calls > _MOST_CALLS:
            raise PtxError(f"{self.entry.name} calls functions in too many places", item.line, item.place)
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

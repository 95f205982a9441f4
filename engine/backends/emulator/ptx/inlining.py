"""Inline device functions: the statements of a kernel and of everything it calls, as one list.

Registers, labels and local variables of each copy get their own names. The parameters of a call become registers, or
local variables if they must lie in memory: if they are read at computed addresses, if they are read in other pieces
than they are written in, or if a function that is not inlined takes or returns them as a structure. Functions that are
not inlined (see `calls`) follow behind the kernel.
"""

from __future__ import annotations

from collections import Counter
from collections.abc import Collection, Iterator, Sequence
from dataclasses import dataclass, field, replace

from engine.backends.emulator.ptx.calls import Callee, CallGraph, CallOperands, FrameLayout, calls_of
from engine.backends.emulator.ptx.syntax import (
    WIDTHS,
    Address,
    Function,
    Group,
    Immediate,
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
from engine.backends.emulator.ptx.traits import Traits, has_destination, registers_of, traits_of


def parameters_in_memory(module: Module, function: Function, called: Collection[str]) -> dict[str, Variable]:
    """Return the parameters of the calls in a function that must lie in memory. `called`: functions not inlined."""
    found: dict[str, Variable] = {}
    for item in calls_of(function):
        call = CallOperands.of(item)
        name = call.target.name if isinstance(call.target, Symbol) else None
        if name is None:
            form = function.prototypes.get(call.kind)
            for names, sizes in zip((call.returned, call.given), form or ((), ()), strict=True):
                for each, (size, array) in zip(names, sizes, strict=False):
                    if array:
                        found[each] = Variable(each, "local", size, 16, array=True)
            continue
        callee = module.functions.get(name)
        if callee is None:
            continue
        for given, names, variables in ((True, call.given, callee.params), (False, call.returned, callee.returns)):
            for each, variable in zip(names, variables, strict=False):
                apart = _needs_memory(function, each, callee, variable.name, given)
                if variable.array and (name in called or apart):
                    found[each] = variable
    return found


def with_known_parameters(items: Sequence[Instruction | Label], params: Collection[str]) -> list[Instruction | Label]:
    """Rewrite loads of parameters whose addresses are known statically as direct loads.

    The compiler computes an address in a register if a structure is copied.
    """
    written = Counter(
        index
        for item in items
        if isinstance(item, Instruction) and has_destination(item)
        for index in registers_of(item.operands[0])
    )
    known: dict[int, Symbol] = {}  # only of registers that are written once
    made = list(items)
    for number, item in enumerate(made):
        if isinstance(item, Label):
            continue
        place: Symbol | None = None
        match item.operands:
            case (_, Symbol(name, offset)) if item.words[0] == "mov" and name in params:
                place = Symbol(name, offset)
            case (_, Register(source)) if item.words[0] == "mov":
                place = known.get(source)
            case (_, Register(source), Immediate(more)) if item.words[0] == "add" and source in known:
                place = Symbol(known[source].name, known[source].offset + more)
            case (target, Address(Register(source), offset)) if traits_of(item.opcode).head == "ld.param":
                if source in known:
                    made[number] = replace(item, operands=(target, Address(known[source], offset)))
                continue
        first = item.operands[0] if item.operands else None
        if place is not None and isinstance(first, Register) and written[first.index] == 1:
            known[first.index] = place
    return made


def _needs_memory(function: Function, name: str, callee: Function, inner: str, given: bool) -> bool:
    """Return whether a parameter must lie in memory: its address is taken, or it is read in other pieces
    than written."""
    outside, inside = set(_pieces(function, name)), set(_pieces(callee, inner))
    return _is_address_taken(callee, inner) or not (inside <= outside if given else outside <= inside)


def _pieces(function: Function, name: str) -> Iterator[tuple[int, int]]:
    """Yield (byte, bits) of each access to a parameter."""
    for item in function.body:
        if not isinstance(item, Instruction) or traits_of(item.opcode).head not in ("ld.param", "st.param"):
            continue
        load = traits_of(item.opcode).writes
        data, address = item.operands if load else item.operands[::-1]
        if isinstance(address, Address) and isinstance(address.base, Symbol) and address.base.name == name:
            bits = WIDTHS[item.opcode.rsplit(".", 1)[1]]
            for number in range(len(data.items) if isinstance(data, Vector) else 1):
                yield address.base.offset + address.offset + number * bits // 8, bits


def _is_address_taken(function: Function, name: str) -> bool:
    """Return whether the address of a parameter is taken."""
    named = (item.operands for item in function.body if isinstance(item, Instruction) and item.words[0] != "call")
    return any(isinstance(each, Symbol) and each.name == name for operands in named for each in operands)


# The emulated functions of the CUDA runtime.
_LEAST_ARGUMENTS = {"vprintf": 2, "__assertfail": 2, "malloc": 1, "free": 1}
_WORD = 8  # bytes of the largest word of local memory
_MOST_CALLS = 20_000  # of copied functions (weighted) and guarded instructions in one kernel
_COPY = 5  # weight of a copy; 20,000 copies took half a minute


@dataclass
class _Copy:
    """One copy of a function: the names of its registers, labels and symbols in the kernel. `frame`: the layout of its
    local variables, if it is, or is inlined into, a function called at run time."""

    function: Function
    base: int
    names: dict[str, str]
    line: int
    suffix: str = ""
    frame: FrameLayout | None = None


@dataclass
class Inliner:
    """Inline into a kernel all functions it calls. `widths`, `locals`, `tables`: those of the resulting kernel.

    `slots`: the register of a call's parameter, by name and byte; `calls`: the weighted number of copies and guarded
    instructions. `callees`: the functions called at run time, which start at the labels of `entries`.
    """

    module: Module
    entry: Function
    widths: list[int] = field(default_factory=list)
    locals: list[Variable] = field(default_factory=list)
    tables: dict[str, tuple[str, ...]] = field(default_factory=dict)
    slots: dict[tuple[str, int], int] = field(default_factory=dict)
    calls: int = 0
    callees: dict[str, Callee] = field(default_factory=dict)
    entries: dict[str, str] = field(default_factory=dict)

    def __post_init__(self) -> None:
        self._entry_params = {param.name for param in self.entry.params}
        self.graph = CallGraph(self.module, self.entry.name)
        self._memory: set[str] = set()  # the parameters of calls that lie in memory

    def run(self) -> Iterator[Instruction | Label]:
        """Yield the statements of the kernel. PtxError for a call that is not emulated."""
        yield from self._function(_Copy(self.entry, 0, {}, self.entry.line))
        if self.graph.called:
            yield Instruction("exit", (), None, self.entry.line)  # the kernel ends before the functions
        for name in sorted(self.graph.called):
            yield from self._called(self.module.functions[name])

    def _called(self, function: Function) -> Iterator[Instruction | Label]:
        """Yield the statements of a function that is called at run time."""
        name, frame = function.name, FrameLayout(len(self.widths))
        self.widths.append(64)
        names = {each.name: f"{name}:{each.name}" for each in (*function.params, *function.returns)}
        params, returns = (
            tuple(self._passed(names[each.name], each, frame) for each in group)
            for group in (function.params, function.returns)
        )
        self.entries[f"call:{name}"] = name
        yield Label(f"call:{name}")
        yield from self._function(_Copy(function, 0, names, function.line, f"@{name}", frame))
        line = next((item.line for item in reversed(function.body) if isinstance(item, Instruction)), function.line)
        results = tuple(Register(each) for each in returns if isinstance(each, int))
        yield Instruction("leave", results, None, line)
        self.callees[name] = Callee(name, 0, params, returns, frame.places, frame.sizes, frame.size, frame.base)

    def _passed(self, name: str, variable: Variable, frame: FrameLayout) -> int | str:
        """Return the register that a number is passed in, or the name of a structure's variable in memory."""
        if not variable.array:
            return self._slot(name, 0, max(16, 8 * variable.size), 0).index
        self._memory.add(name)
        frame.add(replace(variable, name=name))
        return name

    def _function(self, copy: _Copy) -> Iterator[Instruction | Label]:
        function = copy.function
        copy.base = len(self.widths)
        self.widths.extend(function.widths)
        for variable in function.variables:
            if variable.space == "local":
                copy.names[variable.name] = variable.name + copy.suffix
            self._declare(copy, replace(variable, name=copy.names.get(variable.name, variable.name)))
        for name, variable in parameters_in_memory(self.module, function, self.graph.called).items():
            unique = name + copy.suffix
            self._memory.add(unique)
            size = -(-variable.size // _WORD) * _WORD  # it is copied by whole words
            alignment = max(_WORD, variable.alignment)
            self._declare(copy, replace(variable, name=unique, space="local", size=size, alignment=alignment))
        for label, targets in function.tables.items():
            self.tables[label + copy.suffix] = tuple(target + copy.suffix for target in targets)
        for item in function.body:
            if isinstance(item, Label):
                yield Label(item.name + copy.suffix)
            else:
                yield from self._instruction(copy, item)
        if copy.suffix:
            yield Label("end" + copy.suffix)

    def _declare(self, copy: _Copy, variable: Variable) -> None:
        if copy.frame is not None and variable.space == "local":
            copy.frame.add(variable)
        else:
            self.locals.append(variable)

    def _instruction(self, copy: _Copy, item: Instruction) -> Iterator[Instruction | Label]:
        line = item.line or copy.line
        traits = traits_of(item.opcode)
        branch = traits.control in ("branch", "switch")
        operands = tuple(self._operand(copy, operand, branch) for operand in item.operands)
        guard = item.guard and Register(item.guard.index + copy.base, item.guard.negated)
        new = Instruction(item.opcode, operands, guard, line, item.place)
        if branch or guard is None:
            yield from self._expand(copy, new, traits)
            return
        # A guarded instruction becomes a branch around it; only a guarded exit counts as a branch.
        self.calls += 1
        past = f"past@{self.calls}"
        hop = "bra" if traits.control == "exit" else "skip"
        yield Instruction(hop, (Symbol(past),), Register(guard.index, not guard.negated), line)
        yield from self._expand(copy, replace(new, guard=None), traits)
        yield Label(past)

    def _expand(self, copy: _Copy, item: Instruction, traits: Traits) -> Iterator[Instruction | Label]:
        if traits.head == "ret" and copy.suffix:
            yield Instruction("skip", (Symbol("end" + copy.suffix),), None, item.line)
        elif traits.head == "call":
            yield from self._call(copy, item)
        elif traits.head in ("ld.param", "st.param"):
            for made in self._parameter(copy, item):
                yield self._in_frame(copy.frame, made)
        elif traits.control == "barrier" and "red" in item.words:
            yield replace(item, operands=item.operands[1:])
            yield Instruction("bar_result." + item.opcode, item.operands[:1], None, item.line)
        else:
            yield self._in_frame(copy.frame, item)

    def _in_frame(self, frame: FrameLayout | None, item: Instruction) -> Instruction:
        """Address a local variable of a called function relative to the start of its frame."""
        if frame is None:
            return item
        operands, base = list(item.operands), Register(frame.base)
        for number, operand in enumerate(operands):
            match operand:
                case Address(Symbol(name, start), offset) if name in frame.places:
                    operands[number] = Address(base, frame.places[name] + start + offset)
                case Symbol(name, start) if name in frame.places:
                    if item.words[0] != "mov":
                        raise PtxError(f"{item.opcode} of a variable of a called function is not emulated", item.line)
                    place = Immediate(frame.places[name] + start)
                    return replace(item, opcode="add.u64", operands=(operands[0], base, place))
        return replace(item, operands=tuple(operands))

    def _parameter(self, copy: _Copy, item: Instruction) -> Iterator[Instruction]:
        """Yield the accesses to a parameter: moves, or local memory, for an inlined call; a load for the kernel."""
        load = traits_of(item.opcode).writes
        register, address = item.operands if load else item.operands[::-1]
        assert isinstance(address, Address)  # checked by its form
        if not isinstance(address.base, Symbol):
            if copy.function is not self.entry or not load:
                raise PtxError("a parameter of a function at a computed address is not emulated", item.line)
            yield item
            return
        name = address.base.name
        if name in self._entry_params:
            yield item
            return
        if name in self._memory:
            yield replace(item, opcode=item.opcode.replace(".param", ".local", 1))
            return
        suffix = item.opcode.rsplit(".", 1)[1]
        size = WIDTHS[suffix] // 8
        parts = register.items if isinstance(register, Vector) else (register,)
        for number, part in enumerate(parts):
            offset = address.base.offset + address.offset + number * size
            width = max(16, WIDTHS[suffix])
            whole = self.widths[self.slots[name, offset]] if (name, offset) in self.slots else width
            if load and whole == 32 and width == 16:  # a bool, a char or a short, which the caller has extended
                slot = self._slot(name, offset, whole, item.line)
                yield Instruction("cvt.u16.u32", (part, slot), None, item.line, item.place)
                continue
            slot = self._slot(name, offset, width, item.line)
            pair = (part, slot) if load else (slot, part)
            yield Instruction(f"mov.b{width}", pair, None, item.line, item.place)

    def _slot(self, name: str, offset: int, width: int, line: int) -> Register:
        index = self.slots.get((name, offset))
        if index is None:
            index = self.slots[(name, offset)] = len(self.widths)
            self.widths.append(width)
        elif self.widths[index] != width:
            raise PtxError("a parameter that is passed in one piece and read in another is not emulated", line)
        return Register(index)

    def _call(self, copy: _Copy, item: Instruction) -> Iterator[Instruction | Label]:
        call = CallOperands.of(item)
        if not isinstance(call.target, Symbol):
            if not isinstance(call.target, Register) or self.widths[call.target.index] != 64:
                raise InvalidPtx("a call has no function to call", item.line, item.place)
            names = self.graph.may_call(copy.function, call)
            if not names:
                clause = "no function matches this call through a pointer"
                raise PtxError(clause, item.line, item.place)
            yield self._entered(call, self.module.functions[names[0]], item)
            return
        function = self.module.functions.get(call.target.name)
        if function is None:
            yield from self._runtime_call(call.target.name, call, item)
            return
        if (len(call.given), len(call.returned)) != (len(function.params), len(function.returns)):
            raise InvalidPtx(f"a call of {function.name} does not pass the arguments it takes", item.line, item.place)
        if function.name in self.graph.called:
            yield self._entered(call, function, item)
            return
        self.calls += _COPY
        if self.calls > _MOST_CALLS:
            raise PtxError(f"{self.entry.name} calls functions in too many places", item.line, item.place)
        inner = dict(zip((v.name for v in function.params), call.given, strict=True))
        inner.update(zip((v.name for v in function.returns), call.returned, strict=True))
        yield from self._function(_Copy(function, 0, inner, item.line, f"@{self.calls}", copy.frame))

    def _entered(self, call: CallOperands, function: Function, item: Instruction) -> Instruction:
        """Return a call that stays at run time. `function`: the called function, or one with the same signature."""
        passed: list[Group] = []
        for names, variables in ((call.returned, function.returns), (call.given, function.params)):
            if len(names) != len(variables):
                raise InvalidPtx("a call does not pass the arguments its function takes", item.line, item.place)
            pairs = zip(names, variables, strict=True)
            passed.append(Group(tuple(self._outside(name, each, item.line) for name, each in pairs)))
        assert call.target is not None
        return Instruction("enter", (passed[0], call.target, passed[1]), None, item.line, item.place)

    def _outside(self, name: str, variable: Variable, line: int) -> Symbol | Register:
        """Return a parameter in the caller's terms."""
        return Symbol(name) if variable.array else self._slot(name, 0, max(16, 8 * variable.size), line)

    def _runtime_call(self, name: str, call: CallOperands, item: Instruction) -> Iterator[Instruction]:
        """Yield the call of a CUDA runtime function."""
        if name not in _LEAST_ARGUMENTS:
            yield Instruction(f"call.{name}", (), None, item.line, item.place)
            return
        made = [register for each in call.given for register in self._slots_of(each)]
        if len(made) < _LEAST_ARGUMENTS[name]:
            raise InvalidPtx(f"a call of {name} has too few arguments", item.line, item.place)
        back = [self._slot(each, 0, 32 if name == "vprintf" else 64, item.line) for each in call.returned]
        yield Instruction(f"call.{name}", (Group(tuple(back)), *made), None, item.line, item.place)

    def _slots_of(self, name: str) -> list[Register]:
        return [Register(index) for (owner, _), index in sorted(self.slots.items()) if owner == name]

    def _operand(self, copy: _Copy, operand: Operand, branch: bool) -> Operand:
        match operand:
            case Register(index, negated):
                return Register(index + copy.base, negated) if copy.base else operand
            case Symbol(name, offset):
                if branch:
                    return Symbol(name + copy.suffix)
                # Parameter symbols of a call are unique per inlined copy of the caller.
                renamed = copy.names.get(name, name + copy.suffix if "#" in name else name)
                return Symbol(renamed, offset)
            case Address(base, offset, coordinates) if base is not None:
                inner = self._operand(copy, base, branch)
                assert isinstance(inner, Register | Symbol)
                return Address(inner, offset, tuple(self._operand(copy, each, branch) for each in coordinates))
            case Vector(items):
                return Vector(tuple(self._operand(copy, item, branch) for item in items))
            case Group(items):
                return Group(tuple(self._operand(copy, item, branch) for item in items))
            case Pair(first, second):
                return Pair(self._operand(copy, first, branch), self._operand(copy, second, branch))
        return operand

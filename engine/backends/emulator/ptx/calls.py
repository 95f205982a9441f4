"""Which functions of a kernel are called at run time: the recursive ones, and the ones that pointers may lead to.

All others are inlined.
"""

from __future__ import annotations

from collections.abc import Iterable, Iterator, Mapping
from dataclasses import dataclass, field

from engine.backends.emulator.ptx.syntax import (
    Function,
    Group,
    Instruction,
    InvalidPtx,
    Module,
    Operand,
    PtxError,
    Register,
    Symbol,
    Variable,
    form_of,
)
from engine.backends.emulator.ptx.traits import Traits, describe, traits_of

# The form that `inlining` gives to a remaining call: `enter (results), function or pointer, (arguments)`. Numbers are
# passed in registers; a parameter with brackets lies in the local memory of the call and is given by name.
describe(
    Traits("enter", control="call"),
    Traits("leave", writes=False, control="return"),
)


@dataclass(frozen=True)
class Callee:
    """A function that is called at run time.

    `entry`: its first block. `params`, `results`: a register each, or the name of a variable in the call's local
    memory; `places`, `sizes`: the offset and the bytes of each variable there; `size`: the bytes of all. `base`: the
    register with the start of that memory.
    """

    name: str
    entry: int
    params: tuple[int | str, ...]
    results: tuple[int | str, ...]
    places: Mapping[str, int]
    sizes: Mapping[str, int]
    size: int
    base: int


def argument_moves(items: Iterable[Instruction], callees: Mapping[str, Callee]) -> Iterator[Instruction]:
    """Yield a move for each register copy that these calls may make. Structures are passed through memory."""
    for item in items:
        if traits_of(item.opcode).control != "call":
            continue
        returned, _, given = item.operands
        assert isinstance(returned, Group) and isinstance(given, Group)
        for callee in callees_of(item, callees):
            pairs = [*zip(map(Register, _numbers(callee.params)), _registers(given), strict=False)]
            pairs += zip(_registers(returned), map(Register, _numbers(callee.results)), strict=False)
            for to, source in pairs:
                yield Instruction("mov", (to, source), None, item.line, item.place)


def callees_of(call: Instruction, callees: Mapping[str, Callee]) -> tuple[Callee, ...]:
    """Return the functions that an `enter` may call: one by name, or all whose parameters and results match."""
    returned, target, given = call.operands
    if isinstance(target, Symbol):
        return (callees[target.name],)
    assert isinstance(returned, Group) and isinstance(given, Group)
    form = [[isinstance(each, Register) for each in group.items] for group in (returned, given)]
    return tuple(
        callee for callee in callees.values()
        if [[isinstance(each, int) for each in group] for group in (callee.results, callee.params)] == form
    )  # fmt: skip


def _numbers(passed: tuple[int | str, ...]) -> list[int]:
    return [each for each in passed if isinstance(each, int)]


def _registers(group: Group) -> list[Register]:
    return [each for each in group.items if isinstance(each, Register)]


@dataclass(frozen=True)
class CallOperands:
    """The operands of a call. `given`, `returned`: the names of its parameters; `target`: a function or a register."""

    returned: tuple[str, ...]
    target: Operand | None
    given: tuple[str, ...]
    kind: str = ""  # the label of a pointer call's prototype or target list

    @staticmethod
    def of(item: Instruction) -> CallOperands:
        """Parse `call (results), target, (arguments), label`; empty brackets may be missing."""
        groups = [operand for operand in item.operands if isinstance(operand, Group)]
        others = [operand for operand in item.operands if not isinstance(operand, Group)]
        returns = groups[0] if groups and item.operands[0] is groups[0] else Group(())
        arguments = groups[-1] if groups and (len(groups) == 2 or not returns.items) else Group(())
        label = others[1].name if len(others) > 1 and isinstance(others[1], Symbol) else ""
        return CallOperands(_symbol_names(returns), others[0] if others else None, _symbol_names(arguments), label)


def _symbol_names(group: Group) -> tuple[str, ...]:
    return tuple(operand.name for operand in group.items if isinstance(operand, Symbol))


@dataclass
class CallGraph:
    """The calls among the kernel `entry` and the functions it calls. `called`: the functions that are not inlined;
    `recursive`: whether any function calls itself, directly or not; `depth`: the most open calls without recursion."""

    module: Module
    entry: str
    called: frozenset[str] = frozenset()
    recursive: bool = False
    depth: int = 0
    _taken: frozenset[str] | None = None
    _edges: dict[str, frozenset[str]] = field(default_factory=dict)

    def __post_init__(self) -> None:
        pointed: set[str] = set()
        ahead = [self.entry]
        while ahead:
            name = ahead.pop()
            if name in self._edges:
                continue
            function = self.module.functions[name]
            if function.refused is not None:
                raise function.refused.at(None, None)  # a new error: the module is kept, and no traceback with it
            direct, indirect = self._callees(function)
            pointed |= indirect
            self._edges[name] = frozenset(direct | indirect)
            ahead += self._edges[name]
        circular = {name for name in self._edges if name in self._behind(name)}
        self.called, self.recursive = frozenset(circular | pointed), bool(circular)
        self.depth = len(self.called)

    def may_call(self, function: Function, call: CallOperands) -> tuple[str, ...]:
        """Return the functions that a call through a pointer may lead to."""
        if call.kind in function.choices:
            names = function.choices[call.kind]
            return tuple(name for name in names if name in self.module.functions)
        form = function.prototypes.get(call.kind)
        if form is None:
            raise InvalidPtx("a call through a pointer names no possible targets")
        return tuple(name for name in sorted(self._pointed()) if _form(self.module.functions[name]) == form)

    def _callees(self, function: Function) -> tuple[set[str], set[str]]:
        direct: set[str] = set()
        indirect: set[str] = set()
        for item in calls_of(function):
            call = CallOperands.of(item)
            if not isinstance(call.target, Symbol):
                try:
                    indirect |= set(self.may_call(function, call))
                except PtxError as error:
                    raise error.at(item.line, item.place) from None
            elif call.target.name in self.module.functions:
                direct.add(call.target.name)
        return direct, indirect

    def _behind(self, name: str) -> set[str]:
        found: set[str] = set()
        ahead = [name]
        while ahead:
            for other in self._edges[ahead.pop()] - found:
                found.add(other)
                ahead.append(other)
        return found

    def _pointed(self) -> frozenset[str]:
        """Return the functions whose address is in a register or in a variable's initial value."""
        if self._taken is None:
            functions = self.module.functions
            named = {name for one in self.module.variables.values() for _, name in one.references}
            for function in functions.values():
                for item in function.body:
                    if isinstance(item, Instruction) and traits_of(item.opcode).head != "call":
                        named |= {each.name for each in item.operands if isinstance(each, Symbol)}
            self._taken = frozenset(name for name in named & functions.keys() if not functions[name].entry)
        return self._taken


def calls_of(function: Function) -> Iterator[Instruction]:
    """Return the calls in a function."""
    return (item for item in function.body if isinstance(item, Instruction) and traits_of(item.opcode).head == "call")


def _form(function: Function) -> object:
    return form_of(function.returns, function.params)


@dataclass
class FrameLayout:
    """The local memory of a called function during layout. `base`: the register with its start."""

    base: int
    places: dict[str, int] = field(default_factory=dict)
    sizes: dict[str, int] = field(default_factory=dict)
    size: int = 0

    def add(self, variable: Variable) -> None:
        """Append a variable."""
        start = -(-self.size // max(8, variable.alignment)) * max(8, variable.alignment)
        self.places[variable.name], self.sizes[variable.name] = start, variable.size
        self.size = start + variable.size

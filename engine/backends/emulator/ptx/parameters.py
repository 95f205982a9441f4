"""Where parameters are: those of a kernel, and those of a function's calls, in memory or in registers.

In memory lies what is read piece by piece at places that are known only when the kernel runs, what is passed in other
pieces than it is read in, and every structure that a function which stays one takes or gives back.
"""

from __future__ import annotations

from collections import Counter
from collections.abc import Collection, Iterator, Sequence
from dataclasses import replace

from engine.backends.emulator.ptx.calls import Call, calls_of
from engine.backends.emulator.ptx.register_use import has_destination, registers_of
from engine.backends.emulator.ptx.syntax import (
    WIDTHS,
    Address,
    Function,
    Immediate,
    Instruction,
    Label,
    Module,
    Register,
    Symbol,
    Variable,
    Vector,
)
from engine.backends.emulator.ptx.traits import traits_of


def in_memory(module: Module, function: Function, called: Collection[str]) -> dict[str, Variable]:
    """By their names in the function's calls: what they are to the functions that it calls. `called`: those that stay
    functions."""
    found: dict[str, Variable] = {}
    for item in calls_of(function):
        call = Call.of(item)
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
                apart = _apart(function, each, callee, variable.name, given)
                if variable.array and (name in called or apart):
                    found[each] = variable
    return found


def with_places(items: Sequence[Instruction | Label], params: Collection[str]) -> list[Instruction | Label]:
    """The statements of a kernel, with loads of its parameters at the places that are known before it runs: of a
    structure that is copied, the compiler computes the address in a register."""
    written = Counter(
        index
        for item in items
        if isinstance(item, Instruction) and has_destination(item)
        for index in registers_of(item.operands[0])
    )
    known: dict[int, Symbol] = {}  # of registers that are written once
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


def _apart(function: Function, name: str, callee: Function, inner: str, given: bool) -> bool:
    """Whether registers will not do: the callee computes where it reads, or pieces are read that were not put."""
    outside, inside = set(_pieces(function, name)), set(_pieces(callee, inner))
    return _addressed(callee, inner) or not (inside <= outside if given else outside <= inside)


def _pieces(function: Function, name: str) -> Iterator[tuple[int, int]]:
    """(byte, bits) of each access to a parameter."""
    for item in function.body:
        if not isinstance(item, Instruction) or traits_of(item.opcode).head not in ("ld.param", "st.param"):
            continue
        load = traits_of(item.opcode).writes
        data, address = item.operands if load else item.operands[::-1]
        if isinstance(address, Address) and isinstance(address.base, Symbol) and address.base.name == name:
            bits = WIDTHS[item.opcode.rsplit(".", 1)[1]]
            for number in range(len(data.items) if isinstance(data, Vector) else 1):
                yield address.base.offset + address.offset + number * bits // 8, bits


def _addressed(function: Function, name: str) -> bool:
    """Whether the address of a parameter is taken."""
    named = (item.operands for item in function.body if isinstance(item, Instruction) and item.words[0] != "call")
    return any(isinstance(each, Symbol) and each.name == name for operands in named for each in operands)

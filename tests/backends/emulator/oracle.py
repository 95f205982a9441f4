"""A reference interpreter of PTX for tests: one thread after the other, one instruction at a time, plain numbers.

It shares nothing with the emulator: it has its own parser and arithmetic (`exact`), and executes calls instead of
inlining them. Threads are coroutines that stop at barriers and at warp-synchronous instructions until all named threads
have arrived. Between such points a thread runs alone, which is one of the legal schedules.
"""

from __future__ import annotations

import re
from collections.abc import Generator, Sequence
from typing import Any

from tests.backends.emulator.oracle_arithmetic import Registers, reader, writer
from tests.backends.emulator.oracle_module import Fault, Function, Instruction, Memory, Module, Unknown
from tests.backends.emulator.oracle_warp import answers

__all__ = ["Endless", "Fault", "Module", "Stuck", "Unknown", "run"]
Size = tuple[int, int, int]


class Stuck(Exception):
    """Threads wait for threads that never come."""


class Endless(Exception):
    """More instructions than the caller allows."""


def run(
    text: str | Module, kernel: str, grid: Size, block: Size, arguments: Sequence[bytearray | bytes], limit: int = 10**7
) -> int:
    """Execute a launch; a bytearray is device memory (changed in place), bytes are a scalar. Return the number of
    instructions that threads executed."""
    module = text if isinstance(text, Module) else Module(text)
    function = module.functions[kernel]
    memory = Memory(())
    params = {}
    for (name, size), argument in zip(function.params, arguments, strict=True):
        raw = memory.add(argument).to_bytes(8, "little") if isinstance(argument, bytearray) else argument
        assert len(raw) == size, f"{name} has {size} bytes"
        params["param " + name] = bytearray(raw)
    places: Registers = {"&" + name: address for name, address in module.addresses.items()}
    shared = 0
    for name, (space, size, data) in module.variables.items():
        if space == "shared":
            shared = -(-shared // 16) * 16
            places["&" + name], shared = shared, shared + size
        else:
            places["&" + name] = memory.add(bytearray(data.ljust(size, b"\0")))
    count = [limit]
    for number in range(grid[0] * grid[1] * grid[2]):
        memory.spaces[1] = bytearray(shared)
        _block(module, function, number, grid, block, {**params, **places, "memory": memory, "count": count})
    return limit - count[0]


def _block(module: Module, kernel: Function, number: int, grid: Size, block: Size, common: Registers) -> None:
    size = block[0] * block[1] * block[2]
    threads: dict[int, Generator[Any, Any, None]] = {}
    locals_ = {thread: bytearray() for thread in range(size)}
    for thread in range(size):
        specials: Registers = {"%laneid": thread % 32, "%warpid": thread // 32}
        for name, linear, sizes in (("tid", thread, block), ("ctaid", number, grid)):
            place = (linear % sizes[0], linear // sizes[0] % sizes[1], linear // (sizes[0] * sizes[1]))
            for axis, where, length in zip("xyz", place, sizes, strict=True):
                specials[f"%{name}.{axis}"], specials[f"%n{name}.{axis}"] = where, length
        for name, value in (("eq", 1), ("lt", 0), ("le", 0), ("gt", 0), ("ge", 0)):
            lane = thread % 32
            specials[f"%lanemask_{name}"] = {
                "eq": value << lane, "lt": (1 << lane) - 1, "le": (2 << lane) - 1,
                "gt": 0xFFFFFFFF & ~((2 << lane) - 1), "ge": 0xFFFFFFFF & ~((1 << lane) - 1),
            }[name]  # fmt: skip
        threads[thread] = _frame(module, kernel, {**common, **specials}, locals_[thread])
    waiting: dict[int, tuple[Any, ...]] = {}
    send: dict[int, Any] = dict.fromkeys(threads)
    memory = common["memory"]
    while threads:
        for thread in sorted(send):
            memory.spaces[2] = locals_[thread]
            try:
                waiting[thread] = threads[thread].send(send[thread])
            except StopIteration:
                del threads[thread]
        send = _released(threads, waiting)
        for thread in send:
            del waiting[thread]
        if threads and not send:
            raise Stuck(f"{len(threads)} threads of block {number}")


def _released(threads: dict[int, Any], waiting: dict[int, tuple[Any, ...]]) -> dict[int, Any]:
    """Return the waiting threads that may continue, each with its result."""
    if all(waiting[thread][0] == "barrier" for thread in threads):
        votes = [waiting[thread][2] for thread in threads]
        told = {"": None, "and": all(votes), "or": any(votes), "popc": sum(map(bool, votes))}
        return {thread: told[waiting[thread][1]] for thread in threads}
    send: dict[int, Any] = {}
    for first in threads:
        kind, place, payload = waiting[first]
        if kind == "warp" and first not in send:
            warp = first // 32 * 32
            named = [warp + lane for lane in range(32) if payload[-1] >> lane & 1 and warp + lane in threads]
            if all(waiting[lane][:2] == (kind, place) for lane in named):
                results = answers(place.opcode, {lane % 32: waiting[lane][2] for lane in named})
                send.update({lane: results[lane % 32] for lane in named})
    return send


def _frame(module: Module, function: Function, registers: Registers, local: bytearray) -> Generator[Any, Any, None]:
    """Run one call until it returns; stop where threads must converge."""
    start = len(local)
    for name, size in function.local.items():
        registers["&" + name] = -(-len(local) // 16) * 16
        local.extend(bytes(registers["&" + name] - len(local) + size))
    place, code, count = 0, function.code, registers["count"]
    while place < len(code):
        item = code[place]
        place += 1
        idle = item.guard and bool(registers.get(item.guard[0], 0)) == item.guard[1]
        if not idle or item.kind == "jump":  # a branch that is not taken counts as an instruction too
            count[0] -= 1
        if count[0] < 0:
            raise Endless
        if idle:
            continue
        if item.kind == "do":
            item.action(registers)  # type: ignore[misc]
        elif item.kind == "jump":
            place = item.target
        elif item.kind == "switch":
            place = item.target[item.action(registers)]  # type: ignore[misc]
        elif item.kind == "call":
            yield from _call(module, item, registers, local)
        elif item.kind == "barrier":
            yield from _barrier(item, function, registers)
        elif item.kind == "warp":
            payload = item.action(registers)  # type: ignore[misc]
            results = yield ("warp", item, payload)
            _deliver(item, function, registers, results)
        elif item.kind == "trap":
            raise Fault("trap")
        else:
            break
    del local[start:]


def _call(module: Module, item: Instruction, registers: Registers, local: bytearray) -> Generator[Any, Any, None]:
    groups = [re.findall(r"[$\w]+", text) for text in item.operands if text.startswith("(")]
    called = item.action(registers)  # type: ignore[misc]
    names = {address: name for name, address in module.addresses.items()}
    callee = module.functions[names.get(called, called)]
    returned = groups[0] if item.operands[0].startswith("(") and callee.returns else []
    given = groups[-1] if len(groups) > len(returned[:1]) else []
    inner = {key: value for key, value in registers.items() if key[0] == "&" or key in ("memory", "count")}
    inner.update({key: value for key, value in registers.items() if re.match(r"%(n?tid|n?ctaid|lane|warpid)", key)})
    for (param, _), argument in zip(callee.params, given, strict=True):
        inner["param " + param] = registers["param " + argument]
    yield from _frame(module, callee, inner, local)
    for outside, inside in zip(returned, callee.returns, strict=True):
        registers["param " + outside] = inner["param " + inside]


def _barrier(item: Instruction, function: Function, registers: Registers) -> Generator[Any, Any, None]:
    words = item.opcode.split(".")
    if "red" not in words:
        yield ("barrier", "", True)
        return
    vote = reader(item.operands[-1], "pred", function.widths)(registers)
    kind = next(word for word in words if word in ("and", "or", "popc"))
    result = yield ("barrier", kind, vote)
    writer(item.operands[0], words[-1], function.widths)(registers, int(result))


def _deliver(item: Instruction, function: Function, registers: Registers, results: tuple[int, ...]) -> None:
    if not results:
        return
    words = item.opcode.split(".")
    first = {"vote": words[2] if words[2] == "ballot" else "pred", "redux": words[-1]}.get(words[0], "b32")
    for name, value, code in zip(
        item.operands[0].split("|"), results, ("b32" if first == "ballot" else first, "pred"), strict=False
    ):
        writer(name.strip(), code, function.widths)(registers, value)

"""Atomics: the lanes of one instruction take turns in the order of blocks and threads, or under "independent" in a
random one.

If the old values are unused, only the combination matters. Otherwise each lane must see the result of the lanes before
it: all lanes that access one word form a chain.
"""

from __future__ import annotations

from dataclasses import dataclass
from typing import Any

import numpy as np

from engine.backends.emulator.instructions.memory_port import Port, address_reader, as_signed, site_of
from engine.backends.emulator.instructions.registry import Executor, executes
from engine.backends.emulator.meanings.table import DTYPES, operation
from engine.backends.emulator.ptx.syntax import Address, Instruction, InvalidPtx, PtxError, Sink, Vector
from engine.backends.emulator.ptx.traits import Traits, check_type, describe
from engine.backends.emulator.registers.masks import Mask
from engine.backends.emulator.registers.operands import Registers, reader, writer
from engine.backends.emulator.registers.values import UNSIGNED, Value, plain, spread, starts_of
from engine.backends.emulator.state.machine import Machine
from engine.records import Array

_UFUNCS: dict[str, Any] = {
    "add": np.add, "min": np.minimum, "max": np.maximum, "and": np.bitwise_and, "or": np.bitwise_or,
    "xor": np.bitwise_xor,
}  # fmt: skip
_OTHERS = ("exch", "inc", "dec", "cas")
_WHOLE_ONLY = ("and", "or", "xor", "inc", "dec", "cas")
_BEYOND_NUMPY = ("bf16", "f16x2", "bf16x2")  # `meanings` computes their sums
describe(Traits("red.async", writes=False))


@dataclass(frozen=True)
class _AtomicLanes:
    """The active lanes of one atomic that access one array, in the order of blocks and threads.

    `words`: the flat array of words; `index`: the word of each lane; `select`: the lanes in (width, height), None for
    all. `halves`: if words were combined from two halves, the places of the halves.
    """

    words: Array
    index: Array
    select: Array | None
    halves: tuple[Array, Array, Array] | None = None  # memory of 32-bit words, places of the low and of the high halves

    def put_back(self) -> None:
        """Store combined words back into their halves."""
        if self.halves is not None:
            memory, low, high = self.halves
            memory[low] = self.words.astype(np.uint32)
            memory[high] = (self.words >> np.uint64(32)).astype(np.uint32)

    def pick(self, value: Array, shape: tuple[int, int]) -> Array:
        """Return one value per lane, in the order of the lanes; `shape` is (height, width)."""
        turned = spread(value, shape).T
        return turned.reshape(-1) if self.select is None else turned[self.select]


@executes(
    Traits("atom", "dav?vv", check=check_type, memory="atomic", varies=True),
    Traits("red", "av?v", check=check_type, memory="atomic", writes=False),
)
def atomic_step(machine: Machine, item: Instruction) -> Executor:
    """Return the executor of an `atom` or `red` instruction."""
    words, site = item.words, site_of(machine, item)
    name = next((word for word in words[1:] if word in _UFUNCS or word in _OTHERS), None)
    code = words[-1]
    if name is None or code not in DTYPES or site.count > 1 or (code in _BEYOND_NUMPY and name not in ("add", "exch")):
        raise PtxError(f"this instruction is not emulated: {item.opcode}", item.line)
    if code in _BEYOND_NUMPY and name == "add":
        name = f"add.{code}"
    returns = words[0] == "atom"
    rest = item.operands[1 if returns else 0 :]
    if not isinstance(rest[0], Address) or any(isinstance(operand, Vector) for operand in rest):
        raise PtxError(f"this form of {item.opcode} is not emulated", item.line)
    widths, line = machine.program.widths, item.line
    get, offset = address_reader(machine, rest[0], line)
    port = Port(machine, site, offset, rest[0])
    kind = DTYPES[code]
    wanted_count = 2 if name == "cas" else 1
    if len(rest) <= wanted_count or (kind.kind == "f" and name in _WHOLE_ONLY):
        raise InvalidPtx(f"{item.opcode} does not exist with these operands", line)
    sources = [reader(operand, code, widths, line) for operand in rest[1 : 1 + wanted_count]]
    wanted = returns and site.op == "atom" and not isinstance(item.operands[0], Sink)
    put = writer(item.operands[0], code, widths, line) if wanted else None

    def step(registers: Registers, mask: Mask) -> None:
        values = [read(registers) for read in sources]
        raw = get(registers)
        parts = _atomic_lanes(port, raw, mask, values)
        shape = (mask.height, mask.width)
        old = np.zeros(shape[::-1], kind) if put else None
        for part in parts:
            operands = [part.pick(value, shape) for value in values]
            memory = part.words.view(kind)
            if put is None and name in _UFUNCS:
                _combine(name, memory, part.index, operands[0])
            else:
                turns = machine.turns(part.index.size)
                before = np.empty(part.index.size, kind)
                before[turns] = _in_turn(name, memory, part.index[turns], [operand[turns] for operand in operands])
                if old is not None and part.select is None:
                    old = before.reshape(shape[::-1])
                elif old is not None:
                    old[part.select] = before
            part.put_back()
        if put is not None and old is not None:
            put(registers, np.ascontiguousarray(old.T))

    return step


def _atomic_lanes(port: Port, raw: Value, mask: Mask, values: list[Array]) -> list[_AtomicLanes]:
    """Return the active lanes by array. Blocks come first in the order, so all arrays are transposed to (width,
    height)."""
    parties = port.mixed(raw, mask)
    if parties:
        return [part for lanes in parties for part in _atomic_lanes(port, raw, lanes, values)]
    machine, site = port.machine, port.site
    key = raw
    space, raw = port.space_of(as_signed(raw), mask)
    shape = (mask.height, mask.width)
    if space == "global":
        lanes = None if mask.dense is None else mask.dense.T
        found = (
            port.locate(raw, mask) if lanes is None or plain(raw).size == 1 else None
        )  # idle lanes share one address
        if found is not None:
            port.observe(space, raw, mask, found[0], values)
            turned = spread(found[1], shape).T
            index = turned.reshape(-1) if lanes is None else turned[lanes]
            return [_AtomicLanes(found[0].view(site.part), index, lanes)]
        pieces = port.pieces(raw, mask)
        port.observe(space, raw, mask, pieces[0].array if len(pieces) == 1 else None, values)
        made = []
        for piece in pieces:
            index = np.zeros(shape, np.int64)
            index[piece.lanes] = piece.index
            select = piece.lanes.T
            made.append(_AtomicLanes(piece.array.view(site.part), index.T[select], select))
        return made
    words = machine.words(space)
    at = port.offsets(key, raw, mask, words, space)
    raw = port.as_checked(raw, at)
    port.report_at(space, raw, at, mask, values)
    lanes = None if mask.dense is None else mask.dense.T
    # Words are ordered [word][block], in local memory [word][thread][block]; parts lie inside their word.
    own: Array = mask.columns_at()[None, :]
    row = blocks = machine.resident.blocks
    if space == "local":
        own, row = own + mask.rows_at()[:, None] * blocks, blocks * machine.rows
    place = (at >> words.shift) * row + own
    if site.part > words.unit:
        turned = spread(place, shape).T
        return [_join_halves(words.flat, turned.reshape(-1) if lanes is None else turned[lanes], row, lanes)]
    index = place * (words.unit // site.part) + (at & (words.unit - 1)) // site.part
    flat = words.flat.view(UNSIGNED[8 * site.part])
    turned = spread(index, shape).T
    return [_AtomicLanes(flat, turned.reshape(-1) if lanes is None else turned[lanes], lanes)]


def _join_halves(memory: Array, index: Array, row: int, lanes: Array | None) -> _AtomicLanes:
    """Combine 64-bit words from 32-bit memory; the high half lies `row` words behind the low half."""
    low, place = np.unique(index, return_inverse=True)
    high = low + row
    whole = memory[low].astype(np.uint64) | (memory[high].astype(np.uint64) << np.uint64(32))
    return _AtomicLanes(whole, place, lanes, (memory, low, high))


def _combine(name: str, memory: Array, index: Array, values: Array) -> None:
    """Combine values into memory; the old values are unused."""
    if memory.dtype.kind in "iu" and index.size and (index == index[0]).all():
        word = int(index[0])
        memory[word] = _UFUNCS[name](memory[word : word + 1], _UFUNCS[name].reduce(values, dtype=memory.dtype))[0]
        return
    _UFUNCS[name].at(memory, index, values)


def _in_turn(name: str, memory: Array, index: Array, operands: list[Array]) -> Array:
    """Update the words as if the lanes took turns, and return each lane's old value."""
    if index.size == 0:
        return np.zeros(0, memory.dtype)
    if (index == index[0]).all():
        word = int(index[0])
        old, last = _chain(name, memory[word], operands)
        memory[word] = last
        return old
    order = np.argsort(index, kind="stable")
    ranked = index[order]
    starts = starts_of(ranked)
    sizes = np.diff(starts, append=ranked.size)
    old = np.empty(index.size, memory.dtype)
    if len(starts) <= int(sizes.max()):
        for start, size in zip(starts.tolist(), sizes.tolist(), strict=True):
            lanes = order[start : start + size]
            word = int(ranked[start])
            old[lanes], memory[word] = _chain(name, memory[word], [operand[lanes] for operand in operands])
        return old
    for turn in range(int(sizes.max())):  # the turn-th lane of every word, all words at once
        lanes = order[starts[sizes > turn] + turn]
        place = index[lanes]
        now = memory[place]
        old[lanes] = now
        memory[place] = _next(name, now, [operand[lanes] for operand in operands])
    return old


def _next(name: str, now: Array, operands: list[Array]) -> Array:
    """Return each word after one turn."""
    first = operands[0]
    match name:
        case "exch":
            return first
        case "inc":
            return np.where(now >= first, 0, now + 1).astype(now.dtype)
        case "dec":
            return np.where((now == 0) | (now > first), first, now - 1).astype(now.dtype)
        case "cas":
            return np.where(now == first, operands[1], now)
    return (_UFUNCS.get(name) or operation(name).compute)(now, first)  # type: ignore[no-any-return]


def _chain(name: str, start: Any, operands: list[Array]) -> tuple[Array, Any]:
    """Return the old values along one word's chain of lanes, and the final word."""
    first = operands[0]
    start = np.asarray(start, first.dtype)
    if name in _UFUNCS:
        chain = _UFUNCS[name].accumulate(np.r_[start, first], dtype=first.dtype)
        return chain[:-1], chain[-1]
    if name == "exch":
        return np.r_[start, first[:-1]], first[-1]
    if name == "inc" and (first == first[0]).all() and int(start) <= int(first[0]):
        turns = (np.arange(first.size + 1, dtype=np.uint64) + np.uint64(start)) % np.uint64(int(first[0]) + 1)
        turns = turns.astype(first.dtype)
        return turns[:-1], turns[-1]
    if name == "cas":
        return _swaps(start, *operands)
    old, now = np.empty(first.size, first.dtype), start[None]
    for lane in range(first.size):
        old[lane] = now[0]
        now = _next(name, now, [operand[lane : lane + 1] for operand in operands])
    return old, now[0]


def _swaps(start: Array, expected: Array, wanted: Array) -> tuple[Array, Any]:
    """Compare and swap along one chain: jump from one success to the next."""
    old = np.empty(expected.size, expected.dtype)
    now, lane = start[()], 0
    while lane < expected.size:
        hits = expected[lane:] == now
        success = lane + int(hits.argmax())
        if not hits[success - lane]:
            break
        old[lane : success + 1] = now
        now, lane = wanted[success], success + 1
    old[lane:] = now
    return old, now

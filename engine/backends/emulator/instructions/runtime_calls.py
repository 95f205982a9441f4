"""Functions of the CUDA runtime that a kernel may call: printf, assert, and malloc and free, which `new` and
`delete` call too.

Others are refused by name.
"""

from __future__ import annotations

import re
import struct

import numpy as np

from engine.backends.emulator.instructions.registry import Executor, executes
from engine.backends.emulator.ptx.syntax import Group, Instruction, PtxError
from engine.backends.emulator.ptx.traits import Traits
from engine.backends.emulator.registers.masks import Mask
from engine.backends.emulator.registers.operands import Registers, reader, writer
from engine.backends.emulator.state.events import Access, Site
from engine.backends.emulator.state.heap import open_heap
from engine.backends.emulator.state.machine import Machine
from engine.backends.emulator.state.memory import LOCAL_WINDOW, RANGE_BITS, SHARED_WINDOW
from engine.compile.names import readable
from engine.records import Array

_MOST_CALLS = 1000  # printf calls that are shown
_MOST_BYTES = 1 << 20  # printed characters that are shown, as in a GPU's own buffer
_LONGEST = 1 << 16  # bytes of a text
_WIDEST = 1 << 12  # characters of a field
_MOST_ARGUMENTS = 32  # CUDA programming guide, "Formatted output": further fields are printed unchanged
_CUT = "(The rest of printf's output is left out.)\n"
_FIELD = re.compile(r"%([-+ #0]*)(\d+|\*)?(\.(?:\*|\d*))?(hh|h|ll|l|z|j|t)?([diouxXeEfFgGaAcsp%])")


@executes(Traits("call"))
def runtime_call(machine: Machine, item: Instruction) -> Executor:
    """Return the executor of `call.NAME (results) arguments…`."""
    name = item.opcode.split(".", 1)[1]
    if name == "vprintf":
        return _print(machine, item)
    if name == "__assertfail":
        return _assert(machine, item)
    if name.startswith("_Z"):  # a C++ name, so not a runtime function
        clause = f"the function {readable(name)} is declared but not defined"
        raise PtxError(clause, item.line, advice="write its body in the same file")
    raise PtxError(f"a call of {name} is not emulated", item.line)


def _print(machine: Machine, item: Instruction) -> Executor:
    widths, line = machine.program.widths, item.line
    form, arguments = (reader(operand, "u64", widths, line) for operand in item.operands[1:3])
    back = item.operands[0]
    puts = [writer(operand, "b32", widths, line) for operand in back.items] if isinstance(back, Group) else []

    def step(registers: Registers, mask: Mask) -> None:
        shape = (mask.height, mask.width)
        forms = np.broadcast_to(form(registers), shape)
        places = np.broadcast_to(arguments(registers), shape)
        rows, columns = mask.rows_at(), mask.columns_at()
        if puts:
            taken = np.zeros(shape, np.uint32)
            for address in np.unique(forms if mask.dense is None else forms[mask.dense]):
                row, column = (int(each[0]) for each in np.nonzero(forms == address))
                text = _text_at(machine, int(address), (int(rows[row]), int(columns[column])))
                taken[forms == address] = _arguments_of(text)
            for put in puts:
                put(registers, taken)
        if machine.output[-1:] == [_CUT]:
            return
        for column in range(mask.width):
            for row in range(mask.height):
                if mask.dense is None or mask.dense[row, column]:
                    if len(machine.output) >= _MOST_CALLS or sum(map(len, machine.output)) >= _MOST_BYTES:
                        machine.output.append(_CUT)
                        return
                    lane = int(rows[row]), int(columns[column])
                    raw = _bytes_at(machine, int(places[row, column]), lane)
                    machine.output.append(
                        _formatted(machine, _text_at(machine, int(forms[row, column]), lane), raw, lane)
                    )

    return step


def _bytes_at(machine: Machine, address: int, lane: tuple[int, int]) -> bytes:
    """Return the bytes from a generic address to the end of its array; `lane`: row and column in the chunk."""
    row, column = lane
    window = address >> RANGE_BITS << RANGE_BITS
    if window in (SHARED_WINDOW, LOCAL_WINDOW):
        words = machine.words("shared" if window == SHARED_WINDOW else "local").words
        own: Array = np.ascontiguousarray(words[:, column] if words.ndim == 2 else words[:, row, column])
        return own.view(np.uint8).tobytes()[address - window :]
    array = machine.space.at(address)
    if array is None or not array.base <= address < array.base + array.size:
        return b""
    return array.data[address - array.base : array.size][:_LONGEST].tobytes()


def _text_at(machine: Machine, address: int, lane: tuple[int, int]) -> str:
    raw = _bytes_at(machine, address, lane)
    return raw.split(b"\0", 1)[0].decode("utf-8", "replace") if raw else "(null)"


def _arguments_of(form: str) -> int:
    """Return how many arguments a format takes, which printf returns, as on the H200."""
    fields = [found.groups() for found in _FIELD.finditer(form)]
    taken = sum(1 + (width == "*") + (precision == ".*") for _, width, precision, _, kind in fields if kind != "%")
    return min(taken, _MOST_ARGUMENTS)


def _formatted(machine: Machine, form: str, raw: bytes, lane: tuple[int, int]) -> str:
    """Format like C's printf for one lane: integers take 4 or 8 bytes by their length modifier; floats and
    pointers 8."""
    place = taken = 0

    def take(size: int) -> bytes:
        nonlocal place, taken
        taken += 1
        place = -(-place // size) * size
        piece = raw[place : place + size].ljust(size, b"\0")
        place += size
        return piece

    def one(found: re.Match[str]) -> str:
        flags, width, precision, length, kind = found.groups()
        if kind == "%":
            return "%"
        if taken >= _MOST_ARGUMENTS:
            return found[0]
        width = _size(int.from_bytes(take(4), "little", signed=True) if width == "*" else width)
        if precision:
            digits = _size(int.from_bytes(take(4), "little", signed=True) if precision == ".*" else precision[1:] or 0)
            precision = "" if digits.startswith("-") else f".{digits}"  # a negative precision is ignored
        head = f"%{flags}{width}{precision or ''}"
        if kind in "eEfFgGaA":
            value: float = struct.unpack("<d", take(8))[0]
            return _hexadecimal(value, kind) if kind in "aA" else (head + kind) % value
        if kind == "s":
            return (head + "s") % _text_at(machine, int.from_bytes(take(8), "little"), lane)
        if kind == "p":
            return hex(int.from_bytes(take(8), "little")).replace("0x0", "(nil)")
        size = 8 if length in ("l", "ll", "z", "j", "t") else 4
        number = int.from_bytes(take(size), "little", signed=kind in "di")
        if kind == "c":
            return (head + "c") % chr(number % 256)
        if kind == "o" and "#" in flags:  # Python would write 0o10
            return (head.replace("#", "") + "s") % (f"0{number:o}" if number else "0")
        return (head + ("d" if kind == "u" else kind)) % number

    return _FIELD.sub(one, form)


def _size(asked: str | int | None) -> str:
    """Return a width or precision as text, limited to `_WIDEST`."""
    return "" if asked is None else str(max(-_WIDEST, min(int(asked), _WIDEST)))


def _hexadecimal(value: float, kind: str) -> str:
    """Format 1.5 as "0x1.8p+0": Python's format without trailing zeros."""
    text = re.sub(r"\.?0*p", "p", value.hex())
    return text.upper() if kind == "A" else text


def _assert(machine: Machine, item: Instruction) -> Executor:
    message = reader(item.operands[1], "u64", machine.program.widths, item.line)

    def step(registers: Registers, mask: Mask) -> None:
        row, column = (0, 0) if mask.dense is None else (int(i) for i in np.argwhere(mask.dense)[0])
        lane = int(mask.rows_at()[row]), int(mask.columns_at()[column])
        at = int(np.broadcast_to(message(registers), (mask.height, mask.width))[row, column])
        text = _text_at(machine, at, lane)
        raise machine.lane_failure("crashed", item.line, mask, row, column, f"fails the assertion {text}")

    return step


@executes(Traits("call.malloc", varies=True, unsteady=True))
def allocate(machine: Machine, item: Instruction) -> Executor:
    """Return the executor of malloc: an allocation for each lane, block by block in the order of threads."""
    back, size = item.operands
    if not isinstance(back, Group) or len(back.items) != 1:
        raise PtxError("a call of malloc without its result is not emulated", item.line)
    get = reader(size, "u64", machine.program.widths, item.line)
    put = writer(back.items[0], "u64", machine.program.widths, item.line)
    heap = open_heap(machine.space)

    def step(registers: Registers, mask: Mask) -> None:
        sizes, lanes = _in_order(get(registers), mask)
        made = np.zeros(lanes.shape, np.uint64)
        made[lanes] = heap.allocate(sizes[lanes], item.line)
        put(registers, np.ascontiguousarray(made.T))

    return step


@executes(Traits("call.free", writes=False))
def release(machine: Machine, item: Instruction) -> Executor:
    """Return the executor of free; for the race checks it writes all of the freed memory."""
    get = reader(item.operands[-1], "u64", machine.program.widths, item.line)
    heap = open_heap(machine.space)
    site = Site(machine.next_site(), item.line, "free", "st", "global", 1, 1, True)

    def step(registers: Registers, mask: Mask) -> None:
        addresses, lanes = _in_order(get(registers), mask)
        lanes = lanes & (addresses != 0)  # a null pointer may be freed
        if not lanes.any():
            return
        sizes, wrong = heap.release(addresses[lanes], item.line)
        if wrong is not None:
            column, row = np.argwhere(lanes)[wrong].tolist()
            fault = heap.wrong_to_free(int(addresses[column, row]))
            raise machine.lane_failure("crashed", item.line, mask, row, column, f"frees {fault.what}", fault.finding)
        if machine.hooks.on_free:
            bytes_of = np.zeros(lanes.shape, np.int64)
            bytes_of[lanes] = sizes
            freeing = Mask(mask.rows, mask.columns, lanes.T)
            freed = Access(site, "global", addresses.T.astype(np.int64), freeing, heap, (), sizes=bytes_of.T)
            for hook in machine.hooks.on_free:
                hook(freed)

    return step


def _in_order(values: Array, mask: Mask) -> tuple[Array, Array]:
    """Return an operand's values and the active lanes, both as (blocks, threads): the order of execution."""
    shape = (mask.height, mask.width)
    lanes = np.ones(shape, bool) if mask.dense is None else mask.dense
    return np.broadcast_to(values, shape).T, lanes.T

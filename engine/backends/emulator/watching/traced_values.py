"""Trace the values of lanes and the origins of the operands they combine, for the animation.

Every register of the block is followed: a loaded value keeps its word and a shuffled value its lane, until an
instruction computes a new value.
"""

from __future__ import annotations

from collections.abc import Iterator
from dataclasses import replace

import numpy as np

from engine.backends.emulator.meanings.table import DTYPES
from engine.backends.emulator.ptx.syntax import Immediate, Instruction, Operand, Pair, Register, Vector
from engine.backends.emulator.ptx.traits import traits_of
from engine.backends.emulator.registers.masks import Mask
from engine.backends.emulator.registers.operands import immediate
from engine.backends.emulator.registers.values import UNSIGNED, Value
from engine.backends.emulator.state.events import Access, ChunkInfo
from engine.backends.emulator.state.machine import Machine
from engine.backends.emulator.watching.one_block import shared_arrays
from engine.backends.emulator.watching.trace import TracedArray, TracedStep, TracedValues, Tracer, lane_sets
from engine.compile.names import readable
from engine.records import Array, dtype_of

MOST_STEPS = 4_000
MOST_REQUESTS = 8_000
MOST_VALUES = 400_000  # lane by lane, over all steps

# Instructions that combine two values: the first word of the opcode -> its symbol.
COMBINES = {"add": "+", "sub": "−", "mul": "×", "fma": "× +", "mad": "× +", "min": "min", "max": "max"}
_TYPES = ("f32", "f64", "s32", "u32", "s64", "u64")

# The origin of an operand: kind + KINDS * place. A place in memory is a byte address, in shared memory an offset.
OWN, SHARED, GLOBAL, LANE = -1, 0, 1, 2
KINDS = 3
SHUFFLED = 4  # bytes that a shuffle moves; halves of wider numbers are no numbers


class ValueTracer(Tracer):
    """A Tracer that stores the values of memory instructions, shuffles and combining instructions.

    `dtype`: the element type of the choice, for PTX that does not name a type.
    """

    def __init__(self, block: int, launch: int, dtype: str) -> None:
        super().__init__(block, launch)
        self.most_steps, self.most_requests = MOST_STEPS, MOST_REQUESTS
        self._element = dtype_of(dtype)
        self._origins: dict[int, Array] = {}
        self._types: dict[int, str] = {}  # of the numbers in registers, if PTX names them
        self._places: Array | None = None  # of the current access, coded as origins
        self._sources: Array | None = None
        self._values = 0

    def on_launch(self, machine: Machine) -> None:
        """Forget the registers of the last launch."""
        super().on_launch(machine)
        self._origins, self._types = {}, {}

    def on_chunk(self, info: ChunkInfo) -> None:
        """List the arrays in the block's own chunk."""
        super().on_chunk(info)
        if self._column >= 0:
            self.arrays = tuple(_arrays(self._machine))

    def on_access(self, access: Access) -> None:
        """Add a load, store or atomic, with the stored values."""
        count = self.steps_in_all
        super().on_access(access)
        if self.steps_in_all == count:
            return
        address = self._threads(access.address, access.mask).astype(np.int64)
        kind = SHARED if access.space == "shared" else GLOBAL
        self._places = address * KINDS + kind if access.space != "local" else None
        if access.values:
            code = access.site.opcode.rpartition(".")[2]
            values = self._numbers(self._threads(access.values[0], access.mask), code)
            self._attach(TracedValues(values))

    def on_shuffle(self, line: int, mask: Mask, source: Array) -> None:
        """Keep the source thread of each thread for the shuffle."""
        if self._column >= 0 and mask.columns[self._column]:
            self._sources = source[:, 0] if source.shape[1] == 1 else source[:, self._place(mask)]

    def on_result(self, item: Instruction, mask: Mask, before: list[Value], registers: list[Value]) -> None:
        """Record the origin and the value of a result."""
        rows = self._rows(mask) if self._column >= 0 else None
        if rows is None:
            return
        traits, words = traits_of(item.opcode), item.words
        target, source = item.operands[0], next(iter(_registers(*item.operands[1:2])), None)
        code = words[-1]
        if words[0] in ("mov", "shfl") and source is not None:
            code = self._types.get(source, code)
        self._types.update(dict.fromkeys(_registers(target), code))
        if traits.memory == "load":
            self._loaded(item, rows, mask, registers)
        elif traits.memory == "atomic":
            self._after_atomic(rows)
            self._set_origin(target, rows, None)
        elif words[0] == "shfl" and self._sources is not None:
            if code in DTYPES and DTYPES[code].itemsize == SHUFFLED:
                made = self._numbers(self._contents_of(target, mask, registers), code)
                self._attach(TracedValues(made, sources=self._sources))
            else:
                self._attach(TracedValues(np.zeros(0), sources=self._sources))
            self._set_origin(target, rows, LANE + KINDS * self._sources)
        elif words[0] == "selp" and before[2] is not None:
            first, second = (self._origin_of(each, rows.size) for each in item.operands[1:3])
            self._set_origin(target, rows, np.where(self._threads(before[2], mask), first, second))
        elif words[0] == "mov" and source is not None:
            self._set_origin(target, rows, self._origins.get(source))
        else:
            if words[0] in COMBINES and words[-1] in _TYPES and "wide" not in words and isinstance(target, Register):
                self._combined(item, rows, mask, before, registers)
            self._set_origin(target, rows, None)

    # ---- helpers

    def _loaded(self, item: Instruction, rows: Array, mask: Mask, registers: list[Value]) -> None:
        target, code = item.operands[0], item.words[-1]
        targets = target.items if isinstance(target, Vector) else (target,)
        if self._places is not None:
            self._attach(TracedValues(self._numbers(self._contents_of(target, mask, registers), code)))
        size = DTYPES[code].itemsize
        for number, each in enumerate(targets):
            self._set_origin(each, rows, None if self._places is None else self._places + number * size * KINDS)
        self._places = None

    def _after_atomic(self, rows: Array) -> None:
        """Store the new contents of the words of shared memory."""
        places, self._places = self._places, None
        step = self.steps[-1] if self.steps else None
        if places is None or step is None or step.carried is None or step.space != "shared":
            return
        at = np.where(rows, places // KINDS, 0)
        memory = self._machine.words("shared")
        column = np.full(at.shape, self._column)
        code = step.opcode.rpartition(".")[2]
        self._replace(replace(step.carried, after=self._numbers(memory.load(at, step.size, (column,)), code)))

    def _combined(
        self, item: Instruction, rows: Array, mask: Mask, before: list[Value], registers: list[Value]
    ) -> None:
        """Add an instruction with an operand that came from memory or from another lane."""
        code, sources = item.words[-1], item.operands[1:]
        origins = tuple(self._origin_of(each, rows.size) for each in sources)
        if not any((origin[rows] != OWN).any() for origin in origins):
            return
        operands = tuple(
            self._numbers(self._threads(immediate(each, code) if isinstance(each, Immediate) else value, mask), code)
            for each, value in zip(sources, before, strict=True)
        )
        self._flush_before(item)
        self._add(TracedStep(item.line, "compute", item.opcode, lane_sets(rows)))
        self._attach(
            TracedValues(self._numbers(self._contents_of(item.operands[0], mask, registers), code), operands, origins)
        )

    def _origin_of(self, operand: Operand, threads: int) -> Array:
        """Return the origin of an operand's value in every thread."""
        known = self._origins.get(operand.index) if isinstance(operand, Register) else None
        return np.full(threads, OWN, np.int64) if known is None else known

    def _flush_before(self, item: Instruction) -> None:
        """Add the queued instructions before this one, and remove it from the queue."""
        for number, each in enumerate(self._pending):
            if each is item:
                earlier, self._pending = self._pending[:number], self._pending[number + 1 :]
                self._compute(earlier)
                return

    def _set_origin(self, target: Operand, rows: Array, origin: Array | None) -> None:
        """Set the origin of a register's value in these lanes."""
        for each in _registers(target):
            old = self._origins.get(each)
            if origin is None and old is None:
                continue
            new = np.full(rows.size, OWN, np.int64) if old is None else old.copy()
            new[rows] = OWN if origin is None else origin[rows]
            self._origins[each] = new

    def _contents_of(self, target: Operand, mask: Mask, registers: list[Value]) -> Array:
        """Return the first register's contents, one value per thread; zeros if there is no register."""
        first = next(iter(_registers(target)), None)
        return np.zeros(mask.rows.size, np.uint32) if first is None else self._threads(registers[first], mask)

    def _numbers(self, raw: Array, code: str) -> Array:
        """Interpret bits as numbers of the PTX type, or of the choice's element type."""
        kind = DTYPES.get(code, raw.dtype)
        if raw.dtype.itemsize > kind.itemsize:
            raw = raw.view(UNSIGNED[8 * raw.dtype.itemsize]).astype(UNSIGNED[8 * kind.itemsize])
        if (
            code[0] in "ub"
            and kind.itemsize == self._element.itemsize
            and (code[0] == "b" or self._element.kind == "i")
        ):
            return raw.view(self._element)
        return raw.view(kind) if raw.dtype.itemsize == kind.itemsize else raw

    def _attach(self, carried: TracedValues) -> None:
        """Attach values to the step that was added last."""
        self._values += carried.values.size * (1 + len(carried.operands))
        if self._values <= MOST_VALUES:
            self._replace(carried)

    def _replace(self, carried: TracedValues) -> None:
        if self.steps and self.steps_in_all == len(self.steps):
            self.steps[-1] = replace(self.steps[-1], carried=carried)


def _arrays(machine: Machine) -> Iterator[TracedArray]:
    for array in machine.space.arrays():
        yield TracedArray(readable(array.name), "global", array.base, array.size, array.element)
    for name, at, size in shared_arrays(machine):
        yield TracedArray(readable(name), "shared", at, size, machine.units["shared"])


def _registers(*operands: Operand) -> list[int]:
    """Return the registers that operands name as values, without the predicate of a shuffle."""
    firsts = [each.first if isinstance(each, Pair) else each for each in operands]
    parts = [part for each in firsts for part in (each.items if isinstance(each, Vector) else (each,))]
    return [each.index for each in parts if isinstance(each, Register)]

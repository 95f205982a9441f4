"""wgmma: the four warps of a warpgroup multiply matrices in shared memory, without waiting for the sums.

Each warp owns 16 of the 64 rows, and its sums have the layout of an `mma` of 16 rows; so a warp computes its own part,
in pieces of 16 x 8. The sums are written at once, since the PTX may move them from register to register while they are
in flight; a program that uses them before their wait is refused. The operands are read twice for the race checks, when
the product starts and when its group is waited for; until then no thread may overwrite them. A wait of one warp holds
for the whole warpgroup.

Operands are described by 64 bits each: start, two distances, and the swizzle. The matrices in shared memory consist of
pieces of 16 bytes. A piece belongs to one row or column ("along": contiguous in k), or to one k.
"""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import dataclass, replace
from functools import lru_cache

import numpy as np

from engine.backends.emulator.instructions.memory_port import Port
from engine.backends.emulator.instructions.registry import Executor, executes
from engine.backends.emulator.instructions.tensor_cores import (
    MatrixOperand,
    Shape,
    from_lanes,
    gatherer,
    size_of,
    spread_over_blocks,
    sums_gatherer,
    sums_scatterer,
    to_lanes,
)
from engine.backends.emulator.meanings.matrix_products import product
from engine.backends.emulator.ptx.program import NO_REQUEST, BasicBlock, Program
from engine.backends.emulator.ptx.syntax import Immediate, Instruction, InvalidPtx, Operand, PtxError, Vector
from engine.backends.emulator.ptx.traits import Traits, reads, registers_of, writes
from engine.backends.emulator.registers.masks import WARP, Mask
from engine.backends.emulator.registers.operands import Registers, reader
from engine.backends.emulator.state.events import Access, Site
from engine.backends.emulator.state.machine import Machine
from engine.backends.emulator.state.tensor_maps import swizzled
from engine.compile.nvrtc import UNOPTIMISED
from engine.records import Array

_WARPS = 4  # of a warpgroup
_GROUPS = -1  # the number by which observers know the wait of a warpgroup
_ROWS, _DEPTH, _TILE = 16, 16, 8  # of a warp's part; of a product; columns multiplied at once
_PIECE, _NUMBERS = 16, 8  # bytes of a piece, and its numbers
_SPANS = np.array([0, 128, 64, 32])  # bytes that a swizzle covers, by the last bits of a description
_KINDS = ("bf16", "f16")
_SIGN = np.uint16(0x8000)


@executes(Traits("wgmma.fence.sync", "", writes=False, converges="warp"))
def order_registers(machine: Machine, item: Instruction) -> None:
    """Return no executor: the registers are always ready."""


@executes(Traits("wgmma.commit_group.sync", "", writes=False, converges="warp"))
def commit_group(machine: Machine, item: Instruction) -> Executor:
    """Return the executor that closes the open group of products."""
    return lambda registers, mask: machine.resident.products.close(mask)


@executes(Traits("wgmma.wait_group.sync", "v", writes=False, converges="warp"))
def wait_group(machine: Machine, item: Instruction) -> Executor:
    """Return the executor that completes all products except those of the newest groups. The warps of a warpgroup are
    ordered like at a barrier: the products of all of them are complete."""
    newest = item.operands[0]
    if not isinstance(newest, Immediate):
        raise InvalidPtx(f"{item.opcode} takes a number", item.line)

    def step(registers: Registers, mask: Mask) -> None:
        machine.resident.products.wait(mask, newest.value)
        for hook in (*machine.hooks.on_part_arrives, *machine.hooks.on_part_released):
            hook(_GROUPS, mask)

    return step


def _check_product(item: Instruction) -> None:
    """Raise PtxError for a shape or type that is not emulated."""
    rows, columns, depth = size_of(item)
    kinds = item.words[5:]
    if (rows, depth) != (64, _DEPTH) or columns % _TILE or not 0 < columns <= 256:
        raise PtxError(f"this instruction is not emulated: {item.opcode}")
    if len(kinds) != 3 or kinds[0] != "f32" or kinds[1] != kinds[2] or kinds[1] not in _KINDS:
        raise PtxError(f"this instruction is not emulated: {item.opcode}")
    wanted = 7 if isinstance(item.operands[1], Vector) else 8
    if len(item.operands) != wanted:
        raise InvalidPtx(f"{item.opcode} takes {wanted} operands but gets {len(item.operands)}")


class Warps:
    """The active warps of a mask: `which` selects them from all warps and the mask's columns, as `from_lanes` has
    them; `rank`: their places in their warpgroups; `columns`: their blocks within the chunk."""

    def __init__(self, machine: Machine, item: Instruction, mask: Mask) -> None:
        count = mask.rows.size // WARP
        active = np.ones((mask.height, mask.width), bool) if mask.dense is None else mask.dense
        lanes = from_lanes(active, mask)
        self.mask, self.size = mask, count * mask.width
        self.which = np.flatnonzero(lanes.any(axis=0))
        warp = self.which // mask.width
        self.rank, self.columns = warp % _WARPS, mask.columns_at()[self.which % mask.width]
        if not lanes[:, self.which].all() or (warp - self.rank + _WARPS).max() * WARP > machine.threads:
            clause = f"{item.opcode.split('.sync')[0]} needs all 128 threads of four neighbouring warps"
            raise machine.failure("crashed", clause, item.line)

    def of(self, values: Array) -> Array:
        """Return the values of the active warps from an array whose last axis counts warps (by columns)."""
        return spread_over_blocks(values, self.size, self.mask)[..., self.which]

    def lanes(self, values: Array) -> Array:
        """Return a register's values as (32, active warps)."""
        whole = np.broadcast_to(values, (self.mask.height, self.mask.width))
        return from_lanes(whole, self.mask)[:, self.which]

    def register(self, values: Array) -> Array:
        """Return (32, active warps) as a register in the rows of the mask, zero elsewhere."""
        whole = np.zeros((WARP, self.size), values.dtype)
        whole[:, self.which] = values
        return to_lanes(whole, self.mask)


Operand16 = Callable[[Registers, Warps], Array]  # -> (lines, depth, active warps)


@executes(
    Traits("wgmma.mma_async.sync", "dvvvvv?vv", check=_check_product, updates=True, converges="warp", varies=True)
)
def multiply(machine: Machine, item: Instruction) -> Executor:
    """Return the executor of D = A B + D, or D = A B if the fourth operand is false."""
    columns, kind = size_of(item)[1], item.words[6]
    sums, left, right, added, *flags = item.operands
    values = [flag.value if isinstance(flag, Immediate) else None for flag in flags]
    signs, turns = values[:2], values[2:]
    if not {*signs} <= {1, -1} or not {*turns} <= {0, 1}:
        raise InvalidPtx(f"{item.opcode} takes factors of 1 or -1, and 1 or 0 for each matrix to transpose", item.line)
    # An unoptimised build stores each sum as soon as it is made; the assembler then waits for it.
    unoptimised = machine.source is not None and UNOPTIMISED in machine.source.options
    early = None if unoptimised else early_read(machine.program)
    if early is not None:
        raise InvalidPtx(
            f"{early.opcode} reads a sum of wgmma.mma_async before wgmma.wait_group has waited for its group",
            early.line,
            early.place,
        )
    shape = Shape((_ROWS, columns, _DEPTH), ("f32", kind, kind, "f32"))
    get_sums = sums_gatherer(machine, item, sums, shape, "f32")
    put_sums = sums_scatterer(machine, item, sums, shape, "f32")
    adds = reader(added, "pred", machine.program.widths, item.line)
    get_left: Operand16
    if isinstance(left, Vector):
        get_left = _register_operand(machine, item, left, kind)
    else:
        get_left = _SharedOperand(machine, item, left, _ROWS, not turns[0], split=True)
    get_right = _SharedOperand(machine, item, right, columns, not turns[-1], split=False)

    def step(registers: Registers, mask: Mask) -> None:
        warps = Warps(machine, item, mask)
        a, b = get_left(registers, warps), get_right(registers, warps)
        a, b = (value ^ _SIGN if sign == -1 else value for value, sign in zip((a, b), signs, strict=True))
        made = np.array(spread_over_blocks(get_sums(registers, mask), warps.size, mask))
        old = np.where(warps.lanes(adds(registers))[0], made[..., warps.which], np.float32(0))
        made[..., warps.which] = _multiply_tiles(a, b, old, shape)
        put_sums(registers, mask, made)

    return step


def _register_operand(machine: Machine, item: Instruction, left: Operand, kind: str) -> Operand16:
    gather = gatherer(machine, item, left, MatrixOperand("a", _ROWS, _DEPTH, kind))
    return lambda registers, warps: warps.of(gather(registers, warps.mask)).view(np.uint16)


def _multiply_tiles(a: Array, b: Array, c: Array, shape: Shape) -> Array:
    """Return A (16, 16, N) times B (columns, 16, N), given by its columns, plus C (16, columns, N)."""
    columns, depth, count = b.shape
    tiles = columns // _TILE
    left = np.tile(a, (1, 1, tiles))
    right = b.reshape(tiles, _TILE, depth, count).transpose(2, 1, 0, 3).reshape(depth, _TILE, -1)
    added = c.reshape(_ROWS, tiles, _TILE, count).transpose(0, 2, 1, 3).reshape(_ROWS, _TILE, -1)
    kind = np.float16 if shape.kinds[1] == "f16" else np.uint16
    made = product(left.view(kind), np.ascontiguousarray(right).view(kind), added, shape.kinds)
    return made.reshape(_ROWS, _TILE, tiles, count).transpose(0, 2, 1, 3).reshape(_ROWS, columns, count)


@dataclass(frozen=True)
class Description:
    """Matrices in shared memory as their 64 bits describe them, int64 (N) each: the byte where they start, the two
    distances in bytes, and the span of the swizzle, 0 for none."""

    start: Array
    leading: Array
    stride: Array
    span: Array

    def along(self, line: Array, half: Array) -> Array:
        """Return the addresses of pieces that are contiguous in k: half 0 or 1 of these lines."""
        row = line % 8 * np.where(self.span > 0, self.span, _PIECE) + line // 8 * self.stride
        made: Array = self.start + row + half * np.where(self.span > 0, _PIECE, self.leading)
        return made

    def across(self, group: Array, depth: Array) -> Array:
        """Return the addresses of pieces of 8 lines at one k: these groups of lines, and these k."""
        wide = np.maximum(self.span // _PIECE, 1)
        spread = group % wide * _PIECE + group // wide * self.leading + depth % 8 * self.span + depth // 8 * self.stride
        plain = group * self.stride + depth % 8 * _PIECE + depth // 8 * self.leading
        made: Array = self.start + np.where(self.span > 0, spread, plain)
        return made


def describe_matrices(bits: Array, along: bool) -> Description | None:
    """Return the matrices that these 64 bits describe, uint64 (N); None if their pattern begins elsewhere than at their
    first row, which is not emulated."""
    start, leading, stride = (((bits >> np.uint64(at)) & np.uint64(0x3FFF)).astype(np.int64) << 4 for at in (0, 16, 32))
    span = _SPANS[(bits >> np.uint64(62)).astype(np.int64)]
    room = np.where(span > 0, span - 2 * _PIECE if along else 0, start)
    inside = start % np.maximum(8 * span, 1) <= room
    based = (bits >> np.uint64(49)) & np.uint64(7)
    return Description(start, leading, stride, span) if inside.all() and not based.any() else None


class _SharedOperand:
    """An operand in shared memory: `lines` rows of A or columns of B; `along`: its pieces are contiguous in k.
    `split`: each warp has its own lines."""

    def __init__(
        self, machine: Machine, item: Instruction, operand: Operand, lines: int, along: bool, split: bool
    ) -> None:
        self._machine, self._item, self._along = machine, item, along
        self._get = reader(operand, "u64", machine.program.widths, item.line)
        site = Site(machine.next_site(), item.line, item.opcode, "ld", "shared", 4, 4, True, request=NO_REQUEST)
        self._port = Port(machine, site, 0)
        first, second = (lines, _DEPTH // _NUMBERS) if along else (lines // _NUMBERS, _DEPTH)
        self._shape = (first, second)
        self._first, self._second = (each.reshape(-1, 1) for each in np.indices(self._shape))
        self._own = first if split else 0

    def __call__(self, registers: Registers, warps: Warps) -> Array:
        """Return the numbers as uint16 (lines, depth, active warps), and report the reads."""
        matrices = self._described(warps.lanes(self._get(registers)))
        place = matrices.along if self._along else matrices.across
        pieces = swizzled(place(self._first + warps.rank * self._own, self._second), matrices.span)
        self._read(pieces, warps)
        words = self._machine.words("shared")
        loaded = words.load(pieces[..., None] + 4 * np.arange(4), 4, (warps.columns[:, None],))
        numbers = np.ascontiguousarray(loaded).view(np.uint16).reshape(*self._shape, -1, _NUMBERS)
        order = (0, 1, 3, 2) if self._along else (0, 3, 1, 2)
        lines = self._shape[0] if self._along else self._shape[0] * _NUMBERS
        return np.ascontiguousarray(numbers.transpose(order)).reshape(lines, _DEPTH, -1)

    def _described(self, bits: Array) -> Description:
        if (bits != bits[0]).any():
            clause = f"lanes of a warp give {self._item.opcode.split('.sync')[0]} different descriptions of a matrix"
            raise self._machine.failure("crashed", clause, self._item.line)
        found = describe_matrices(bits[0], self._along)
        if found is None:
            raise PtxError("a matrix that begins within the pattern of its swizzle is not emulated", self._item.line)
        return found

    def _read(self, pieces: Array, warps: Warps) -> None:
        """Check the addresses of the pieces, (pieces, active warps), and report their reads by the warps' lanes: now,
        and when the product is complete."""
        machine, mask, port = self._machine, warps.mask, self._port
        accesses = []
        for first in range(0, len(pieces), WARP):
            address = warps.register(pieces[(first + np.arange(WARP)) % len(pieces)])
            at = port.offsets(address, address, mask, machine.words("shared"), "shared")
            accesses.append(Access(port.site, "shared", at, mask, None, ()))
        if not machine.hooks.on_access:
            return

        def report(lanes: Mask) -> None:
            for access in accesses:
                port.report(replace(access, mask=lanes))

        report(mask)
        machine.resident.products.issue(report, mask)


_OLDEST = 8  # ages from here on are alike: a wait names at most 7 groups
_Flight = dict[int, int]  # register -> age


@lru_cache(maxsize=64)
def early_read(program: Program) -> Instruction | None:
    """Return an instruction that may read a sum in flight, None if there is none."""
    entries: dict[int, _Flight] = {0: {}}
    ahead = [0]
    while ahead:
        block = program.blocks[ahead.pop()]
        flight = dict(entries[block.index])
        found = _follow(block, flight, program.carry)
        if found is not None:
            return found
        for place in block.successors:
            known = entries.get(place)
            merged = dict(flight)
            for index, age in (known or {}).items():
                merged[index] = min(age, merged.get(index, age))
            if known is None or merged != known:
                entries[place] = merged
                ahead.append(place)
    return None


def _follow(block: BasicBlock, flight: _Flight, carry: int) -> Instruction | None:
    """Follow the flight through a block, in place, up to the first early read."""
    for item in block.items:
        name = item.words[1] if item.words[0] == "wgmma" else item.words[0]
        if name == "mma_async":
            if any(index in flight for operand in item.operands[1:] for index in registers_of(operand)):
                return item
            flight.update(dict.fromkeys(registers_of(item.operands[0]), 0))
        elif name == "commit_group":
            flight.update({index: min(age + 1, _OLDEST) for index, age in flight.items()})
        elif name == "wait_group" and isinstance(item.operands[0], Immediate):
            for index in [index for index, age in flight.items() if age > item.operands[0].value]:
                del flight[index]
        else:
            ages = [flight[index] for index in reads(item, carry) if index in flight]
            if ages and name != "mov":
                return item
            for index in writes(item, carry):
                flight.pop(index, None)
                if ages:
                    flight[index] = min(ages)
    return None

"""Matrices between memory and the registers of a warp: ldmatrix, stmatrix, movmatrix, wmma.load, wmma.store.

A wmma access makes the memory requests of the assembler's code for sm_90. An operand in shared memory is read like
ldmatrix (a lane gives the address of 16 bytes) if its lines are contiguous, or if they are columns of 16-bit numbers.
Otherwise each lane reads four bytes of a line; in a transposed layout, 16-bit numbers are then transposed in registers,
and bytes are read one by one.
"""

from __future__ import annotations

from collections.abc import Callable, Sequence

import numpy as np

from engine.backends.emulator.instructions.memory_port import Port, address_reader, plain_address
from engine.backends.emulator.instructions.registry import Executor, executes
from engine.backends.emulator.instructions.tensor_cores import (
    LINES,
    WMMA,
    MatrixOperand,
    Shape,
    find_shape,
    from_lanes,
    parts_of,
    size_of,
    sum_blocks,
    to_lanes,
)
from engine.backends.emulator.ptx.syntax import WIDTHS, Instruction, InvalidPtx, Operand, PtxError
from engine.backends.emulator.ptx.traits import Traits
from engine.backends.emulator.registers.masks import WARP, Mask
from engine.backends.emulator.registers.operands import Registers, Writer, reader, writer
from engine.backends.emulator.registers.values import UNSIGNED
from engine.backends.emulator.state.events import Site
from engine.backends.emulator.state.machine import Machine
from engine.records import Array

_LANE = np.arange(WARP)


@executes(Traits("ldmatrix.sync", "da", converges="warp", varies=True, memory="load", called="ldmatrix"))
def load_matrices(machine: Machine, item: Instruction) -> Executor:
    """Return the executor that loads one, two or four 8 x 8 matrices of 16-bit numbers.

    Lane l gives the address of row l % 8 of matrix l / 8.
    """
    count = _matrix_count(item)
    targets = parts_of(item.operands[0])
    if len(targets) != count:
        raise InvalidPtx(f"{item.opcode} reads {count} matrices into {len(targets)} registers")
    get, offset = address_reader(machine, item.operands[1], item.line)
    port = Port(machine, matrix_site(machine, item, "ld", 4, 4), offset)
    puts = writers(machine, item, targets)
    rows = MatrixRows(port, count, "trans" in item.words)

    def step(registers: Registers, mask: Mask) -> None:
        address = np.broadcast_to(plain_address(get(registers)), (mask.height, mask.width))
        for put, made in zip(puts, rows.load(address, mask), strict=True):
            put(registers, made)

    return step


@executes(Traits("stmatrix.sync", "av", converges="warp", writes=False, memory="store", called="stmatrix"))
def store_matrices(machine: Machine, item: Instruction) -> Executor:
    """Return the executor that stores one, two or four matrices, with addresses as for ldmatrix."""
    count = _matrix_count(item)
    sources = parts_of(item.operands[1])
    if len(sources) != count:
        raise InvalidPtx(f"{item.opcode} stores {count} matrices from {len(sources)} registers")
    get, offset = address_reader(machine, item.operands[0], item.line)
    gets = [reader(source, "u32", machine.program.widths, item.line) for source in sources]
    rows = MatrixRows(Port(machine, matrix_site(machine, item, "st", 4, 4), offset), count, "trans" in item.words)

    def step(registers: Registers, mask: Mask) -> None:
        address = np.broadcast_to(plain_address(get(registers)), (mask.height, mask.width))
        rows.store(address, mask, [np.broadcast_to(read(registers), address.shape) for read in gets])

    return step


def _matrix_count(item: Instruction) -> int:
    """Return the number of matrices."""
    count = next((int(word[1:]) for word in item.words if word in ("x1", "x2", "x4")), 0)
    if "m8n8" not in item.words or item.words[-1] != "b16" or not count:
        raise PtxError(f"this instruction is not emulated: {item.opcode}", item.line)
    return count


@executes(Traits("movmatrix.sync", "dv", converges="warp", varies=True, called="movmatrix"))
def transpose_matrix(machine: Machine, item: Instruction) -> Executor:
    """Return the executor that transposes an 8 x 8 matrix of 16-bit numbers."""
    widths, line = machine.program.widths, item.line
    get, put = reader(item.operands[1], "u32", widths, line), writer(item.operands[0], "u32", widths, line)
    return lambda registers, mask: put(registers, to_lanes(transposed(from_lanes(get(registers), mask)), mask))


class MatrixRows:
    """Moves matrices of 8 rows of 16 bytes; the first 8 * `count` lanes give the addresses."""

    def __init__(self, port: Port, count: int, turned: bool) -> None:
        self._port, self._count, self._turned = port, count, turned
        self._asking: tuple[Mask, Mask, Array] | None = None

    def load(self, address: Array, mask: Mask) -> list[Array]:
        """Return one register per matrix, in the rows of the mask. `address`: int64 (height, width)."""
        asking, chosen = self._lanes(mask)
        if asking is None:
            return [np.zeros((1, 1), np.uint32)] * self._count
        loaded = self._port.load(address[chosen], asking)
        shape = (asking.height, asking.width)
        words = np.stack([from_lanes(np.broadcast_to(part, shape), asking) for part in loaded])  # 4, 32, N
        # Lane l has word l % 4 of row l / 4.
        made = [words[_LANE % 4, matrix * LINES + _LANE // 4] for matrix in range(self._count)]
        return [to_lanes(transposed(each) if self._turned else each, mask) for each in made]

    def store(self, address: Array, mask: Mask, registers: list[Array]) -> None:
        """Store one register per matrix, all int64 or uint32 (height, width)."""
        asking, chosen = self._lanes(mask)
        if asking is None:
            return
        matrices = [from_lanes(each, mask) for each in registers]
        matrices = [transposed(each) if self._turned else each for each in matrices]
        # Lanes 4 r to 4 r + 3 have the words of row r.
        rows = [np.concatenate([each[word::4] for each in matrices]) for word in range(4)]
        idle = np.zeros((WARP - self._count * LINES, rows[0].shape[1]), np.uint32)
        words = [to_lanes(np.concatenate([row, idle]), asking) for row in rows]
        self._port.store(address[chosen], asking, words)

    def _lanes(self, mask: Mask) -> tuple[Mask | None, Array]:
        """Return the lanes of a mask that give addresses, and their positions among its rows."""
        if self._asking is None or self._asking[0] is not mask:
            chosen = mask.rows_at() % WARP < self._count * LINES
            rows = np.zeros(mask.rows.size, bool)
            rows[mask.rows_at()[chosen]] = True
            dense = None if mask.dense is None else mask.dense[chosen]
            if not rows.any() or (dense is not None and not dense.any()):
                return None, chosen
            self._asking = (mask, mask if rows.all() else Mask(rows, mask.columns, dense), chosen)
        return self._asking[1], self._asking[2]


def transposed(value: Array) -> Array:
    """Transpose an 8 x 8 matrix of 16-bit numbers in the registers of 32 lanes, (32, N)."""
    halves = np.stack([value & np.uint32(0xFFFF), value >> np.uint32(16)])  # 2, 32, N
    low, high = (halves[_LANE // 4 % 2, (_LANE % 4 * 2 + one) * 4 + _LANE // 8] for one in (0, 1))
    made: Array = low | high << np.uint32(16)
    return made


def matrix_site(machine: Machine, item: Instruction, op: str, part: int, count: int) -> Site:
    """Return the site of one access of a matrix instruction."""
    return Site(machine.next_site(), item.line, item.opcode, op, item.space, part, count, True)


def writers(machine: Machine, item: Instruction, targets: Sequence[Operand], code: str = "u32") -> list[Writer]:
    """Return the writers of a fragment's registers, which hold numbers of the type `code`."""
    return [writer(target, code, machine.program.widths, item.line) for target in targets]


def _shape_of(item: Instruction) -> tuple[Shape, str]:
    """Return the shape of a wmma.load or wmma.store, and its matrix: "a", "b" or "c"."""
    name, kind = item.words[2].replace("d", "c"), item.words[-1]
    if name == "c":
        # The layout of sums is the same for all products of one size.
        left = {"f16": "f16", "f32": "tf32" if size_of(item)[2] == 8 else "f16", "s32": "s8"}.get(kind, kind)
        kinds = (kind, left, left, kind)
    else:
        sums = {"f16": "f32", "bf16": "f32", "tf32": "f32", "s8": "s32", "u8": "s32"}.get(kind, kind)
        kinds = (sums, kind, kind, sums)
    return find_shape(item, size_of(item), kinds, WMMA), name


@executes(Traits("wmma.load", "da?v", converges="warp", varies=True, memory="load", called="wmma::load_matrix_sync()"))
def load_fragment(machine: Machine, item: Instruction) -> Executor:
    """Return the executor of wmma.load: rows or columns lie `stride` numbers apart, packed by default."""
    shape, name = _shape_of(item)
    targets = parts_of(item.operands[0])
    if name == "c":
        return _load_sums(machine, item, shape, targets)
    side = shape.operand(name)
    along = ("row" in item.words) == (name == "a")  # the numbers of a line are contiguous
    length = side.depth if along else side.lines
    get, offset = address_reader(machine, item.operands[1], item.line)
    stride = _stride(machine, item, length)
    puts = writers(machine, item, targets, "f64" if side.kind == "f64" else "u32")
    blocks = side.blocks
    if len(targets) < len(blocks):
        raise InvalidPtx(f"{item.opcode} needs {len(blocks)} registers for its matrix but gets {len(targets)}")
    as_rows = item.space == "shared" and side.part < 4 and (along or side.part == 2)
    reading = _load_rows if as_rows else _load_quarters
    load = reading(machine, item, offset, side, along)

    def step(registers: Registers, mask: Mask) -> None:
        base = np.broadcast_to(plain_address(get(registers)), (mask.height, mask.width))
        made = load(base, stride(registers), mask)
        for number, put in enumerate(puts):
            put(registers, made[number % len(blocks)])

    return step


Loading = Callable[[Array, Array, Mask], list[Array]]  # (addresses, strides in numbers, mask) -> registers


def _load_rows(machine: Machine, item: Instruction, offset: int, side: MatrixOperand, along: bool) -> Loading:
    """Return a loader that reads like ldmatrix, up to four matrices at once."""
    blocks = side.blocks
    size = min(4, len(blocks))
    site = matrix_site(machine, item, "ld", 4, 4)
    readers = [MatrixRows(Port(machine, site, offset), size, not along) for _ in range(0, len(blocks), size)]

    def load(base: Array, stride: Array, mask: Mask) -> list[Array]:
        made = []
        lane = mask.rows_at() % WARP
        for number, rows in enumerate(readers):
            some = np.array(blocks[number * size : number * size + size])[lane // LINES % size]
            line, start = some[:, 0], some[:, 1]
            far, near = (line + lane % LINES, start) if along else (start + lane % LINES, line)
            made += rows.load(base + (far[:, None] * stride + near[:, None]) * side.part, mask)
        return made

    return load


def _load_quarters(machine: Machine, item: Instruction, offset: int, side: MatrixOperand, along: bool) -> Loading:
    """Return a loader in which each lane reads a quarter of a line: a word, a double, or the single bytes of a word."""
    bytewise = side.part == 1 and not along
    across = side.part == 2 and not along
    part = 1 if bytewise else max(4, side.part)
    port = Port(machine, matrix_site(machine, item, "ld", part, 1), offset)

    def load(base: Array, stride: Array, mask: Mask) -> list[Array]:
        lane = mask.rows_at() % WARP
        line, near = lane // 4, lane % 4 * side.packed

        def read(first: int, start: int, step: int) -> Array:
            """Return the numbers of a block's lines, starting at `step`."""
            if along:
                far, close = first + line, start + near
            elif across:  # memory has 8 numbers of the depth per line, across the lines
                far, close = start + line, first + near
            else:
                far, close = start + near + step, first + line
            address = base + (far[:, None] * stride + close[:, None]) * side.part
            return np.broadcast_to(port.load(address, mask)[0], (mask.height, mask.width))

        made = []
        for first, start in side.blocks:
            if bytewise:
                parts = [read(first, start, step).astype(np.uint32) << np.uint32(8 * step) for step in range(4)]
                made.append(parts[0] | parts[1] | parts[2] | parts[3])
            else:
                whole = read(first, start, 0)
                made.append(to_lanes(transposed(from_lanes(whole, mask)), mask) if across else whole)
        return made

    return load


def _load_sums(machine: Machine, item: Instruction, shape: Shape, targets: Sequence[Operand]) -> Executor:
    places, load_one = _SumPlaces(machine, item, shape, "ld"), shape.kinds[0]
    puts = writers(machine, item, targets, "u32" if load_one == "f16" else load_one)

    def step(registers: Registers, mask: Mask) -> None:
        whole = (mask.height, mask.width)
        made: list[Array] = []
        for address in places.of(registers, mask):
            made += [np.broadcast_to(part, whole) for part in places.port.load(address, mask)]
        if load_one == "f16" and places.port.site.part == 2:
            made = [low.astype(np.uint32) | high.astype(np.uint32) << np.uint32(16)
                    for low, high in zip(made[::2], made[1::2], strict=True)]  # fmt: skip
        for put, value in zip(puts, made, strict=True):
            put(registers, value)

    return step


@executes(Traits("wmma.store", "av?v", converges="warp", writes=False, memory="store",
                 called="wmma::store_matrix_sync()"))  # fmt: skip
def store_fragment(machine: Machine, item: Instruction) -> Executor:
    """Return the executor of wmma.store: sums as rows or columns that lie `stride` numbers apart."""
    shape, _ = _shape_of(item)
    places, kind = _SumPlaces(machine, item, shape, "st"), shape.kinds[0]
    widths, line = machine.program.widths, item.line
    code = "u32" if kind == "f16" else f"u{WIDTHS[kind]}"
    gets = [reader(part, code, widths, line) for part in parts_of(item.operands[1])]
    site = places.port.site

    def step(registers: Registers, mask: Mask) -> None:
        values = [get(registers) for get in gets]
        if kind == "f16" and site.part == 2:
            values = [(value >> np.uint32(shift)).astype(np.uint16) for value in values for shift in (0, 16)]
        for number, address in enumerate(places.of(registers, mask)):
            some = values[number * site.count : number * site.count + site.count]
            places.port.store(address, mask, [each.view(UNSIGNED[8 * site.part]) for each in some])

    return step


class _SumPlaces:
    """The addresses of the sums of a wmma. A lane moves its two sums of a block at once if they are contiguous."""

    def __init__(self, machine: Machine, item: Instruction, shape: Shape, op: str) -> None:
        self._rows, self._columns = shape.sums
        kind = shape.kinds[0]
        self._part = WIDTHS[kind] // 8
        # If the machine transposes the matrix, its rows are columns in memory.
        self._along = ("row" in item.words) != shape.turned
        pairs = 2 if self._along else 1
        part, count = (4, 1) if kind == "f16" and self._along else (self._part, pairs)
        address = item.operands[1 if op == "ld" else 0]
        self._get, offset = address_reader(machine, address, item.line)
        self._stride = _stride(machine, item, self._columns if self._along else self._rows)
        self.port = Port(machine, matrix_site(machine, item, op, part, count), offset)

    def of(self, registers: Registers, mask: Mask) -> list[Array]:
        """The addresses of each access, int64 (height, width)."""
        base = np.broadcast_to(plain_address(self._get(registers)), (mask.height, mask.width))
        lane, stride = mask.rows_at() % WARP, self._stride(registers)
        made = []
        for row, column in sum_blocks(self._rows, self._columns):
            rows = row + lane // 4
            for one in (0,) if self._along else (0, 1):
                columns = column + lane % 4 * 2 + one
                far, near = (rows, columns) if self._along else (columns, rows)
                made.append(base + (far[:, None] * stride + near[:, None]) * self._part)
        return made


def _stride(machine: Machine, item: Instruction, packed: int) -> Callable[[Registers], Array]:
    """Return a reader of the last operand, int64; of the constant `packed` if there is none."""
    if len(item.operands) < 3:
        fixed = np.full((1, 1), packed, np.int64)
        return lambda registers: fixed
    get = reader(item.operands[2], "s32", machine.program.widths, item.line)
    return lambda registers: get(registers).astype(np.int64)

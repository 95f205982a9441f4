"""Sets of active lanes of a chunk.

A mask is a set of rows (threads) times a set of columns (blocks). Structured code produces such rectangles; registers
are then sliced rather than selected, so the work is proportional to the active lanes. Only data-dependent branches need
a `dense` array of bools inside the rectangle. Masks are immutable and their counts are cached.
"""

from __future__ import annotations

from functools import cached_property
from typing import Any

import numpy as np

from engine.backends.emulator.registers.values import UNSIGNED
from engine.records import Array

WARP = 32
_BITS = (np.uint32(1) << np.arange(WARP, dtype=np.uint32))[None, :, None]
_WORTH_CUTTING = 8  # factor: gathering and scattering rows and columns costs more than idle lanes


class Mask:
    """A non-empty set of lanes.

    `rows`, `columns`: bool arrays of T and B. `row_index`, `column_index`: the index of the rectangle: a slice if the
    set is evenly spaced, an index array, or None for all. `height`, `width`: its size. `dense`: bool[height, width], or
    None if every lane of the rectangle is active.
    """

    def __init__(self, rows: Array, columns: Array, dense: Array | None = None) -> None:
        self.rows, self.columns, self.dense = rows, columns, dense
        self.row_index, self.height = _index_of(rows)
        self.column_index, self.width = _index_of(columns)
        self.whole = dense is None and self.row_index is None and self.column_index is None
        self._words: dict[int, Array] = {}
        self.splits: dict[bytes, tuple[Mask, Mask]] = {}
        self._parts: dict[bytes, Mask] = {}

    def part(self, chosen: Array) -> Mask | None:
        """Return the lanes for which `chosen` (a row or column of the rectangle, or the whole) is true; None if there
        are none."""
        if not chosen.any():
            return None
        if self.dense is not None or 1 not in chosen.shape:
            taken = np.broadcast_to(chosen, (self.height, self.width)) & (True if self.dense is None else self.dense)
            return Mask(self.rows, self.columns, taken) if taken.any() else None
        key = (b"r" if chosen.shape[1] == 1 else b"c") + chosen.tobytes()
        if key not in self._parts:
            rows = _subset(self.rows, chosen[:, 0]) if chosen.shape[0] > 1 else self.rows
            columns = _subset(self.columns, chosen[0]) if chosen.shape[1] > 1 else self.columns
            self._parts[key] = Mask(rows, columns)
        return self._parts[key]

    @cached_property
    def row_key(self) -> bytes:
        """Return the rows as a dictionary key that outlives the chunk."""
        return self.rows.tobytes()

    @cached_property
    def lanes(self) -> int:
        """Return the number of active lanes."""
        return self.height * self.width if self.dense is None else int(np.count_nonzero(self.dense))

    @cached_property
    def blocks(self) -> Array:
        """Return the blocks with an active lane, bool[B]: a dense mask may have columns without one."""
        return self.columns if self.dense is None else np.logical_or.reduce(self.full_dense(), axis=0)

    @cached_property
    def warp_bits(self) -> Array:
        """Return the warps with an active lane, bool[T / 32, 1 or B]; one column stands for `width` equal blocks."""
        lanes = self.rows[:, None] if self.dense is None else self.full_dense()
        return any_per_warp(lanes)

    @cached_property
    def warps(self) -> int:
        """Return the number of warps with an active lane."""
        count = int(np.count_nonzero(self.warp_bits))
        return count * self.width if self.dense is None else count

    def full_dense(self) -> Array:
        """Return the lanes as bool[T, B]."""
        full = np.zeros((self.rows.size, self.columns.size), bool)
        self.mark(full)
        return full

    def first_lane(self) -> tuple[int, int]:
        """Return the row and column of the first lane, by column and then by row."""
        full = self.full_dense()
        column = int(full.any(axis=0).argmax())
        return int(full[:, column].argmax()), column

    def mark(self, full: Array) -> None:
        """Set the lanes in a bool[T, B]."""
        if self.dense is None:
            full[self.place()] = True
        elif isinstance(self.row_index, np.ndarray) and isinstance(self.column_index, np.ndarray):
            # NumPy gathers and scatters whole rectangles slowly, and few scattered lanes are active.
            row, column = np.divmod(np.flatnonzero(self.dense), self.width)
            full[self.row_index[row], self.column_index[column]] = True
        else:
            full[self.place()] |= self.dense

    def place(self) -> Any:
        """Return the index of the mask's rectangle in an array of (T, B)."""
        rows = slice(None) if self.row_index is None else self.row_index
        columns = slice(None) if self.column_index is None else self.column_index
        if isinstance(rows, slice) or isinstance(columns, slice):
            return rows, columns
        return rows[:, None], columns[None, :]

    def row_lanes(self) -> Array:
        """Return the active lanes in the mask's own columns: bool[T, 1] for a rectangle, else bool[T, width]."""
        if self.dense is None:
            return self.rows[:, None]
        full = np.zeros((self.rows.size, self.width), bool)
        full[self.rows] = self.dense
        return full

    def words(self, size: int) -> Array:
        """Return all-ones words of `size` bytes for the active lanes of a dense mask, zeros for the others."""
        found = self._words.get(size)
        if found is None:
            assert self.dense is not None
            found = self.dense if size == 1 else -self.dense.astype(f"i{size}")
            found = self._words[size] = found if size == 1 else found.view(UNSIGNED[size * 8])
        return found

    def columns_at(self) -> Array:
        """Return the block numbers (within the chunk) of the mask's columns."""
        return self._numbers[1]

    def rows_at(self) -> Array:
        """Return the thread numbers of the mask's rows."""
        return self._numbers[0]

    @cached_property
    def _numbers(self) -> tuple[Array, Array]:
        return self.rows.nonzero()[0], self.columns.nonzero()[0]


def _index_of(members: Array) -> tuple[Any, int]:
    """Return an index for the members of a bool vector, and their number."""
    at = members.nonzero()[0]
    count = at.size
    if count == members.size:
        return None, count
    first, last = int(at[0]), int(at[-1])
    step = int(at[1]) - first if count > 1 else 1
    evenly = last - first == step * (count - 1) and (step == 1 or bool((at[1:] - at[:-1] == step).all()))
    return (slice(first, last + 1, step) if evenly else at), count


def any_per_warp(lanes: Array) -> Array:
    """Return the warps with a set lane: bool[T, B] -> bool[T / 32, B]."""
    made: Array = np.logical_or.reduce(lanes.reshape(-1, WARP, lanes.shape[1]), axis=1)
    return made


def lane_words(lanes: Array) -> Array:
    """Return one bit per set lane of a warp: bool[W, 32, C] -> uint32[W, 1, C]."""
    made: Array = np.bitwise_or.reduce(np.where(lanes, _BITS, np.uint32(0)), axis=1, keepdims=True)
    return made


class Masks:
    """The masks of one chunk of T threads by B blocks. Rectangles are interned, so equal ones are one object."""

    def __init__(self, threads: int, rows: int, blocks: int) -> None:
        self.shape = (rows, blocks)
        self._known: dict[tuple[int, int], Mask] = {}
        self._vectors: dict[bytes, Array] = {}
        self.all_rows = self._vector(np.ones(rows, bool))
        self.all_columns = self._vector(np.ones(blocks, bool))
        live = self.all_rows.copy()
        live[threads:] = False
        self.start = self.rectangle(live, self.all_columns)

    def rectangle(self, rows: Array, columns: Array) -> Mask:
        """Return the mask of rows x columns; neither may be empty."""
        rows, columns = self._vector(rows), self._vector(columns)
        found = self._known.get((id(rows), id(columns)))
        if found is None:
            found = self._known[(id(rows), id(columns))] = Mask(rows, columns)
        return found

    def _vector(self, members: Array) -> Array:
        """Return the one array for these members, so sets can be compared with `is`."""
        return self._vectors.setdefault(members.tobytes(), members)

    def from_dense(self, rows: Array, columns: Array, dense: Array) -> Mask | None:
        """Return the mask of the lanes set in `dense`, an array over the given rows and columns; None if there are
        none."""
        in_rows, in_columns = np.logical_or.reduce(dense, axis=1), np.logical_or.reduce(dense, axis=0)
        height, width = int(np.count_nonzero(in_rows)), int(np.count_nonzero(in_columns))
        if not height:
            return None
        if _WORTH_CUTTING * height * width <= dense.size:
            dense = dense[in_rows][:, in_columns]
            rows, columns = _subset(rows, in_rows), _subset(columns, in_columns)
        elif height * width < dense.size and np.count_nonzero(dense) == height * width:
            return self.rectangle(_subset(rows, in_rows), _subset(columns, in_columns))
        return self.rectangle(rows, columns) if dense.all() else Mask(self._vector(rows), self._vector(columns), dense)

    def split(self, mask: Mask, chosen: Array) -> tuple[Mask | None, Mask | None]:
        """Return the lanes of `mask` for which `chosen` (in its rows and columns, or broadcast) is true, and the
        others."""
        if chosen.size == 1:
            return (mask, None) if chosen[0, 0] else (None, mask)
        if mask.dense is None:
            if chosen.shape[0] > 1 and chosen.shape[1] > 1:
                chosen = _collapsed(chosen)
            key = (b"r" if chosen.shape[1] == 1 else b"c") + chosen.tobytes() if 1 in chosen.shape else b""
            if key in mask.splits:
                return mask.splits[key]
            count = int(np.count_nonzero(chosen))
            if count in (0, chosen.size):
                return (mask, None) if count else (None, mask)
            if 1 in chosen.shape:
                halves = mask.splits[key] = self._halves(mask, chosen.ravel(), chosen.shape[1] == 1)
                return halves
            return (self.from_dense(mask.rows, mask.columns, chosen),
                    self.from_dense(mask.rows, mask.columns, ~chosen))  # fmt: skip
        taken = mask.dense & chosen
        count = int(np.count_nonzero(taken))
        if count == mask.lanes:
            return mask, None
        if not count:
            return None, mask
        return (self.from_dense(mask.rows, mask.columns, taken),
                self.from_dense(mask.rows, mask.columns, mask.dense & ~chosen))  # fmt: skip

    def _halves(self, mask: Mask, members: Array, along_rows: bool) -> tuple[Mask, Mask]:
        """Cut a rectangle in two: the rows (or columns) in `members`, and the others."""
        side = mask.rows if along_rows else mask.columns
        one = _subset(side, members)
        if along_rows:
            return self.rectangle(one, mask.columns), self.rectangle(side ^ one, mask.columns)
        return self.rectangle(mask.rows, one), self.rectangle(mask.rows, side ^ one)

    def union(self, a: Mask, b: Mask) -> Mask:
        """Return the lanes of either mask."""
        if a is b:
            return a
        if a.dense is None and b.dense is None:
            if a.columns is b.columns:
                return self.rectangle(a.rows | b.rows, a.columns)
            if a.rows is b.rows:
                return self.rectangle(a.rows, a.columns | b.columns)
        made = self.from_dense(self.all_rows, self.all_columns, a.full_dense() | b.full_dense())
        assert made is not None
        return made

    def whole_warps(self, mask: Mask) -> Mask:
        """Return all lanes of the warps with a lane in `mask`."""
        if mask.dense is None:
            return self.rectangle(np.repeat(mask.warp_bits[:, 0], WARP), mask.columns)
        made = self.from_dense(self.all_rows, self.all_columns, np.repeat(mask.warp_bits, WARP, axis=0))
        assert made is not None
        return made

    def warps(self, mask: Mask) -> list[Mask]:
        """Return the lanes of `mask` warp by warp."""
        number = np.arange(self.shape[0]) // WARP
        each = (self.rectangle(number == warp, self.all_columns) for warp in np.unique(number[mask.rows]))
        return [part for warp in each if (part := self.common(mask, warp)) is not None]

    def minus(self, a: Mask, b: Mask) -> Mask | None:
        """Return the lanes of `a` that are not in `b`; `a` itself if the rectangles are disjoint."""
        if a is b:
            return None
        if not (a.rows & b.rows).any() or not (a.columns & b.columns).any():
            return a
        if a.dense is None and b.dense is None:
            if a.columns is b.columns:
                rows = a.rows & ~b.rows
                return self.rectangle(rows, a.columns) if rows.any() else None
            if a.rows is b.rows:
                columns = a.columns & ~b.columns
                return self.rectangle(a.rows, columns) if columns.any() else None
        return self.from_dense(self.all_rows, self.all_columns, a.full_dense() & ~b.full_dense())

    def common(self, a: Mask, b: Mask) -> Mask | None:
        """Return the lanes in both masks."""
        if a is b:
            return a
        if a.dense is None and b.dense is None:
            rows, columns = a.rows & b.rows, a.columns & b.columns
            return self.rectangle(rows, columns) if rows.any() and columns.any() else None
        return self.from_dense(self.all_rows, self.all_columns, a.full_dense() & b.full_dense())

    @staticmethod
    def same(a: Mask, b: Mask) -> bool:
        """Return whether both masks contain the same lanes."""
        if a is b:
            return True
        if a.lanes != b.lanes:
            return False
        if a.dense is None and b.dense is None:
            return False  # equal rectangles are one object
        return np.array_equal(a.full_dense(), b.full_dense())


def _subset(members: Array, kept: Array) -> Array:
    """Return the members (a bool vector) selected by `kept`."""
    made = np.zeros(members.size, bool)
    made[members.nonzero()[0][kept]] = True
    return made


def _collapsed(chosen: Array) -> Array:
    """Reduce (T, B) to (T, 1) or (1, B) if all columns or all rows are equal."""
    if (chosen[:, 0] == chosen[:, -1]).all() and (chosen == chosen[:, :1]).all():
        return chosen[:, :1]
    if (chosen[0] == chosen[-1]).all() and (chosen == chosen[:1]).all():
        return chosen[:1]
    return chosen

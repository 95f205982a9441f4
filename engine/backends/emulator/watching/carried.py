"""What a trace keeps of values: the arrays that a block can meet, and what its lanes carry in one step."""

from __future__ import annotations

from dataclasses import dataclass

from engine.records import Array


@dataclass(frozen=True)
class TracedArray:
    """An array that the block can meet. `start`: its address, in shared memory an offset; `size`, `element`: bytes."""

    name: str
    space: str
    start: int
    size: int
    element: int


@dataclass(frozen=True, eq=False)
class Carried:
    """The values that lanes carried in one step: arrays of one entry a thread of the block, idle ones hold anything.

    `values`: what was loaded, stored, added to memory, read from another lane, or computed. Of an instruction that
    combines: its `operands`, and `origins`: where each came from, by the kinds of `lane_values`. `sources`: of a
    shuffle the thread that each thread reads. `after`: of an atomic on shared memory what the word then holds.
    """

    values: Array
    operands: tuple[Array, ...] = ()
    origins: tuple[Array, ...] = ()
    sources: Array | None = None
    after: Array | None = None

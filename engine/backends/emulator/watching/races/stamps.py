"""When accesses happened."""

from __future__ import annotations

from dataclasses import dataclass

from engine.records import Array


@dataclass(frozen=True, slots=True)
class Stamp:
    """When accesses happened: one entry per access (one number where they share it). `lane`: thread number in the grid,
    -1 for none."""

    lane: Array
    epoch: Array | int
    clock: Array
    time: Array | int


def of(field: Array | int, at: Array) -> Array | int:
    """The entries `at` of a field."""
    return field if isinstance(field, int) else field[at]

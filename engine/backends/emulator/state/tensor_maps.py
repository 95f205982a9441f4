"""Tensor maps for the copy engine: the 128 bytes that a kernel is passed, and the swizzle of shared memory.

NVIDIA does not document the bits of a map. Here they are a mark and the fields of `MapRecord`.
"""

from __future__ import annotations

from dataclasses import astuple, dataclass

import numpy as np

from engine.compile.nvrtc import TENSOR_MAP_BYTES
from engine.records import Array, TensorMap

_MARK = 0x70614D726F736E65
_PIECE_BITS, _ROW_BITS = 4, 3  # a swizzle exchanges pieces of 16 bytes, by the number of the 128 bytes that they are in


@dataclass(frozen=True)
class MapRecord:
    """A matrix of 16-bit elements at `address`: `width` x `height` elements, a row every `row_bytes` bytes, copied in
    boxes of `columns` x `rows`; `swizzle` as in TensorMap."""

    address: int
    width: int
    height: int
    row_bytes: int
    columns: int
    rows: int
    swizzle: int

    @property
    def box_bytes(self) -> int:
        """Return the bytes that one copy moves."""
        return 2 * self.rows * self.columns


def encode_record(asked: TensorMap, address: int) -> bytes:
    """Return the map of the matrices at `address`, as the bytes of a kernel argument. Asserts that a swizzle covers
    whole rows of a box."""
    assert asked.swizzle in (0, 2 * asked.columns)
    made = MapRecord(address, *asked.extent, asked.row_bytes, asked.columns, asked.rows, asked.swizzle)
    return np.array([_MARK, *astuple(made)], np.uint64).tobytes().ljust(TENSOR_MAP_BYTES, b"\0")


def decode_record(raw: bytes) -> MapRecord | None:
    """Return the record of a map; None if these bytes are no map."""
    mark, *fields = np.frombuffer(raw, np.uint64).tolist()
    return MapRecord(*fields[:7]) if mark == _MARK else None


def swizzled(address: Array, span: Array | int) -> Array:
    """Return where the bytes at these addresses of shared memory lie, if pieces of 16 bytes change places within `span`
    bytes: the number of a piece is combined with bits 7 to 9 of the address by an exclusive or."""
    made: Array = address ^ (address >> _ROW_BITS & np.maximum(span - 1, 0) & -(1 << _PIECE_BITS))
    return made

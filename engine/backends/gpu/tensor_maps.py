"""Tensor maps for Hopper's copy engine (TMA), which copies boxes of a matrix by their coordinates."""

from __future__ import annotations

import ctypes
from typing import Any

from engine.compile.nvrtc import TENSOR_MAP_BYTES
from engine.records import NotRunnable, TensorMap

# CUtensorMapDataType, -Interleave, -Swizzle, -L2promotion, -FloatOOBfill of cuda.h
_BFLOAT16, _NOT_INTERLEAVED, _PROMOTE_128, _ZEROS = 9, 0, 2, 0
_SWIZZLES = {0: 0, 32: 1, 64: 2, 128: 3}  # by the bytes of a row
_ALIGNMENT = 64


def encode_map(asked: TensorMap, pointer: int) -> Any:
    """Return the map of the matrices at `pointer` as ctypes bytes. NotRunnable: this driver makes none."""
    room = ctypes.create_string_buffer(TENSOR_MAP_BYTES + _ALIGNMENT)
    start = -ctypes.addressof(room) % _ALIGNMENT
    status = ctypes.CDLL("libcuda.so.1").cuTensorMapEncodeTiled(
        ctypes.byref(room, start), _BFLOAT16, 2, ctypes.c_void_p(pointer),
        (ctypes.c_uint64 * 2)(*asked.extent), (ctypes.c_uint64 * 1)(asked.row_bytes),
        (ctypes.c_uint32 * 2)(asked.columns, asked.rows), (ctypes.c_uint32 * 2)(1, 1),
        _NOT_INTERLEAVED, _SWIZZLES[asked.swizzle], _PROMOTE_128, _ZEROS,
    )  # fmt: skip
    if status:
        raise NotRunnable(f"The driver makes no map of {asked.buffer} for the copy engine (CUDA error {status}).")
    return (ctypes.c_char * TENSOR_MAP_BYTES).from_buffer_copy(room, start)

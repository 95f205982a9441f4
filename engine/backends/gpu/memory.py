"""The GPU's memory: inputs made on the device and kept for the next rung, and guarded buffers."""

from __future__ import annotations

import zlib
from collections import OrderedDict
from collections.abc import Mapping
from functools import lru_cache
from typing import Any

import cupy
import numpy as np
from cupy_backends.cuda.api import runtime

from engine.records import Array, Buffer, NotRunnable, Plan, RunFailed, dtype_of

Recipe = Mapping[str, tuple[Array, int]]  # buffer -> (the numbers, repeated to so many elements)
Arrays = dict[str, Any]  # buffer -> cupy.ndarray

GUARD_BYTES = 4096  # behind every buffer that a kernel may write
GUARD_BYTE = 0xA5
ALIGNMENT = 512
RESERVE_BYTES = 512 << 20  # left to the context, the flush buffers and the libraries


@lru_cache(maxsize=1)
def stream() -> Any:
    """Return the process's one stream. It is non-blocking: nothing waits for the legacy stream."""
    return cupy.cuda.Stream(non_blocking=True)


def arrays_of(plan: Plan, recipe: Recipe) -> Arrays:
    """Return the inputs, from the cache or filled; all other buffers lie in one piece of memory with guard zones."""
    inputs = {buffer.name: (buffer, *recipe[buffer.name]) for buffer in plan.buffers if buffer.fill == "input"}
    for buffer, _, count in inputs.values():
        if count != buffer.count:
            raise ValueError(f"The recipe of {buffer.name} has {count} elements, the plan {buffer.count}.")
    others = [buffer for buffer in plan.buffers if buffer.fill != "input"]
    keys = {name: _input_key(numbers, count) for name, (_, numbers, count) in inputs.items()}
    missing = sum(_bytes(buffer) for name, (buffer, _, _) in inputs.items() if keys[name] not in _inputs)
    sizes = [_aligned(_bytes(buffer) + GUARD_BYTES) for buffer in others]
    _make_room(plan, missing + sum(sizes), keep=set(keys.values()))
    arrays = {}
    for name, (_, numbers, count) in inputs.items():
        # A user's source may write its input, so it gets fresh memory.
        arrays[name] = _repeated(numbers, count) if plan.choice.source else _cached_input(keys[name], numbers, count)
    slab = cupy.cuda.alloc(max(1, sum(sizes)))
    offset = 0
    for buffer, size in zip(others, sizes, strict=True):
        arrays[buffer.name] = cupy.ndarray((buffer.count,), dtype_of(buffer.dtype), memptr=slab + offset)
        offset += size
    return arrays


def _bytes(buffer: Buffer) -> int:
    return buffer.count * dtype_of(buffer.dtype).itemsize


def _aligned(size: int) -> int:
    return -(-size // ALIGNMENT) * ALIGNMENT


_inputs: OrderedDict[tuple[str, int, int], Any] = (
    OrderedDict()
)  # the last inputs: the rungs of a ladder use the same ones


def _input_key(numbers: Array, count: int) -> tuple[str, int, int]:
    return str(numbers.dtype), zlib.crc32(np.ascontiguousarray(numbers).tobytes()), count


def _cached_input(key: tuple[str, int, int], numbers: Array, count: int) -> Any:
    if key not in _inputs:
        _inputs[key] = _repeated(numbers, count)
        budget = runtime.memGetInfo()[1] // 4
        while len(_inputs) > 2 and sum(array.nbytes for array in _inputs.values()) > budget:
            _inputs.popitem(last=False)
    _inputs.move_to_end(key)
    return _inputs[key]


def _repeated(numbers: Array, count: int) -> Any:
    """Repeat `numbers` to `count` elements on the device: copy one period, then double the filled part."""
    array = cupy.empty(count, numbers.dtype)
    filled = min(len(numbers), count)
    array[:filled].set(np.ascontiguousarray(numbers[:filled]), stream=stream())
    while filled < count:
        more = min(filled, count - filled)
        size = array.itemsize
        target = array.data.ptr + filled * size
        runtime.memcpyAsync(target, array.data.ptr, more * size, runtime.memcpyDeviceToDevice, stream().ptr)
        filled += more
    return array


def _make_room(plan: Plan, needed: int, keep: set[tuple[str, int, int]]) -> None:
    """Free cached inputs if fewer than `needed` bytes are free; NotRunnable if that is not enough."""
    pool = cupy.get_default_memory_pool()
    free, total = runtime.memGetInfo()
    available = free + pool.free_bytes() - RESERVE_BYTES
    if needed <= available:
        return
    evictable = [key for key in _inputs if key not in keep]
    available += sum(_inputs[key].nbytes for key in evictable)
    if needed > available:
        raise NotRunnable(
            f"N = {plan.choice.n:,} needs {needed / 1e9:.1f} GB more on the GPU, and {max(available, 0) / 1e9:.1f} GB "
            f"of its {total / 1e9:.1f} GB are free; choose a smaller N."
        )
    for key in evictable:
        del _inputs[key]
    stream().synchronize()
    pool.free_all_blocks()


def fill(plan: Plan, arrays: Arrays) -> None:
    """Poison and zero the buffers as the plan says, on `stream()`."""
    for buffer in plan.buffers:
        if buffer.fill != "input":
            array = arrays[buffer.name]
            # 0xFF.. is NaN: an unwritten float cannot pass as a small error.
            poison = 0xFF if array.dtype.kind == "f" else 0xA5
            value = 0 if buffer.fill == "zero" else poison
            runtime.memsetAsync(array.data.ptr, value, array.nbytes, stream().ptr)
            runtime.memsetAsync(array.data.ptr + array.nbytes, GUARD_BYTE, GUARD_BYTES, stream().ptr)


def check_guards(plan: Plan, arrays: Arrays) -> None:
    """Raise RunFailed if a kernel wrote into the guard zone behind a buffer."""
    for buffer in plan.buffers:
        if buffer.fill == "input":
            continue
        array = arrays[buffer.name]
        guard = np.empty(GUARD_BYTES, np.uint8)
        runtime.memcpy(guard.ctypes.data, array.data.ptr + array.nbytes, GUARD_BYTES, runtime.memcpyDeviceToHost)
        if (guard != GUARD_BYTE).any():
            raise RunFailed(
                "out-of-bounds",
                f"{plan.choice.kernel} wrote past the end of `{buffer.name}`, which has {buffer.count:,} "
                "elements; run it on the emulator to see the line.",
            )


def forget_inputs() -> None:
    """Return all cached inputs and all pooled memory to the GPU."""
    _inputs.clear()
    stream().synchronize()
    cupy.get_default_memory_pool().free_all_blocks()

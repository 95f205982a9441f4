"""Run and time any kernel on the GPU.

The arrays are copies with guard zones behind them, as a plan's buffers are. An illegal address poisons the process's
CUDA context.
"""

from __future__ import annotations

import ctypes
from collections.abc import Mapping, Sequence
from functools import partial
from typing import Any

import cupy
import numpy as np
from cupy.cuda.function import Module
from cupy_backends.cuda.api import driver, runtime

from engine.backends.gpu.launches import (
    MAX_DYNAMIC_SHARED_BYTES,
    MAX_THREADS_PER_BLOCK,
    Prepared,
    architecture,
    explain_errors,
)
from engine.backends.gpu.memory import ALIGNMENT, GUARD_BYTE, GUARD_BYTES, stream
from engine.backends.launch_limits import check_bound, check_sizes
from engine.backends.timing.gpu import time_plan
from engine.compile.names import readable
from engine.compile.nvrtc import compile_source
from engine.records import Array, Launch, NotRunnable, Plan, RunFailed, Settled, Timing

Piece = bytes | str  # the bytes of an argument, or the name of the array that it points to
Values = Sequence[Piece | tuple[Piece, ...]]  # a tuple: the pieces of a struct
# A module variable's name in the file -> its symbol, its bytes, and its initial value.
Symbols = Mapping[str, tuple[str, int, Array | None]]


def run(
    launch: Launch, values: Values, arrays: Mapping[str, Array], symbols: Symbols
) -> tuple[dict[str, Array], dict[str, Array]]:
    """Launch once; return (the arrays, the bytes of the module's variables).

    NotRunnable, CompileError, RunFailed as for a plan.
    """
    plan = _plan(launch, "cold-clean")
    with explain_errors(plan), stream():
        held = _Held(launch, values, arrays, symbols)
        held.enqueue()
        stream().synchronize()
        held.check_guards(readable(launch.kernel))
        return held.arrays(), held.symbols()


def time(
    launch: Launch,
    values: Values,
    arrays: Mapping[str, Array],
    symbols: Symbols,
    cache: str,
) -> Timing:
    """Return median and samples in microseconds in a state of the L2: "cold-clean", "cold-dirty" or "hot".

    The launches run on the same arrays, so each starts from the result of the launch before.
    """
    plan = _plan(launch, cache)
    with explain_errors(plan), stream():
        held = _Held(launch, values, arrays, symbols)
    prepared = Prepared(plan, held.there, held.enqueue, partial(np.empty, 0), "launch", (held,))
    timing = time_plan(prepared, cache)
    with explain_errors(plan), stream():
        held.check_guards(readable(launch.kernel))
    return timing


def on_gpu(array: Array) -> Any:
    """Copy an array to the GPU."""
    return cupy.asarray(array)


class _Held:
    """The arrays on the device, the module with its variables, and the launch as a call without arguments."""

    def __init__(
        self,
        launch: Launch,
        values: Values,
        arrays: Mapping[str, Array],
        symbols: Symbols,
    ) -> None:
        check_sizes(launch)
        self._like, self._symbols = dict(arrays), symbols
        self.there = {name: _guarded(array) for name, array in arrays.items()}
        self._module = Module()  # a module of its own, whose variables nothing else has changed
        self._module.load(compile_source(launch.source, architecture()))
        function = driver.moduleGetFunction(self._module.ptr, launch.kernel)
        for name, size, value in symbols.values():
            if value is not None:
                raw = np.ascontiguousarray(value)
                runtime.memcpy(self._address(name), raw.ctypes.data, size, runtime.memcpyHostToDevice)
        threads = launch.block[0] * launch.block[1] * launch.block[2]
        allowed = driver.funcGetAttribute(MAX_THREADS_PER_BLOCK, function)
        if threads > allowed:
            check_bound(launch)  # the driver has one limit for bounds and registers
            raise NotRunnable(
                f"{readable(launch.kernel)} uses so many registers that a block of it can have {allowed} threads."
            )
        if launch.shared_bytes:
            driver.funcSetAttribute(function, MAX_DYNAMIC_SHARED_BYTES, launch.shared_bytes)
        self._bytes = [self._argument(one) for one in values]
        pointers = (ctypes.c_void_p * len(self._bytes))(*(ctypes.addressof(one) for one in self._bytes))
        self._pointers = pointers
        where = (function, *launch.grid, *launch.block, launch.shared_bytes, stream().ptr, ctypes.addressof(pointers))
        if launch.cooperative:
            self.enqueue = partial(driver.launchCooperativeKernel, *where)
        else:
            self.enqueue = partial(driver.launchKernel, *where, 0)

    def arrays(self) -> dict[str, Array]:
        """Return copies of the arrays in their original shape and type."""
        return {name: self.there[name][: like.nbytes].get(stream=stream()).view(like.dtype).reshape(like.shape)
                for name, like in self._like.items()}  # fmt: skip

    def symbols(self) -> dict[str, Array]:
        """Return the bytes of the module's variables, by their names in the file."""
        found = {}
        for called, (name, size, _) in self._symbols.items():
            found[called] = np.empty(size, np.uint8)
            runtime.memcpy(found[called].ctypes.data, self._address(name), size, runtime.memcpyDeviceToHost)
        return found

    def check_guards(self, kernel: str) -> None:
        """Raise RunFailed if the guard zone behind an array was written."""
        for name, like in self._like.items():
            if (self.there[name][like.nbytes :].get(stream=stream()) != GUARD_BYTE).any():
                sentence = f"{kernel} wrote past the end of `{name}`; run it on the emulator to see the line."
                raise RunFailed("out-of-bounds", sentence, finding="out-of-bounds")

    def _argument(self, value: Piece | tuple[Piece, ...]) -> Any:
        pieces = value if isinstance(value, tuple) else (value,)
        raw = b"".join(
            self.there[one].data.ptr.to_bytes(8, "little") if isinstance(one, str) else one for one in pieces
        )
        return ctypes.create_string_buffer(raw, len(raw))

    def _address(self, name: str) -> int:
        return int(driver.moduleGetGlobal(self._module.ptr, name))


def _guarded(array: Array) -> Any:
    """Copy an array's bytes to the device, with a guard zone behind them."""
    raw = np.ascontiguousarray(array).view(np.uint8).reshape(-1) if array.size else np.empty(0, np.uint8)
    held = cupy.full(-(-raw.size // ALIGNMENT) * ALIGNMENT + GUARD_BYTES, GUARD_BYTE, np.uint8)
    held[: raw.size].set(raw, stream=stream())
    return held


def _plan(launch: Launch, cache: str) -> Plan:
    """Return the launch as a plan, for functions that work on plans."""
    threads = launch.block[0] * launch.block[1] * launch.block[2]
    blocks = launch.grid[0] * launch.grid[1] * launch.grid[2]
    choice = Settled(readable(launch.kernel), blocks * threads, threads, blocks, cache=cache, device="gpu")
    return Plan(choice, (), (launch,), "", 0, 0, 0, 0, blocks)

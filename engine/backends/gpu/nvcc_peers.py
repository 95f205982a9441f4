"""CUB's device-wide calls built by nvcc, if CuPy lacks them or wraps them in more than the call."""

from __future__ import annotations

import ctypes
from functools import lru_cache, partial
from pathlib import Path
from typing import Any

import cupy
import numpy as np

from engine.backends.gpu.launches import Prepared, architecture
from engine.backends.gpu.memory import stream
from engine.backends.gpu.peer import Peer, input_of, peer_of
from engine.catalogue.libraries import NVCC_CUB
from engine.compile import nvcc
from engine.records import C_TYPES, NotRunnable

SOURCE = Path(__file__).with_name("cub_calls.cu")
TO_BUILD = "It is not built yet: `python -m engine peers` builds it."


def built(prepared: Prepared, operation: str) -> Peer:
    """Build the operation on the plan's input. NotRunnable: its library is not built yet, or cannot be built."""
    choice, values = prepared.plan.choice, input_of(prepared)
    path = nvcc.path_of(SOURCE, macros(operation, choice.dtype), architecture())
    if not path.exists():
        raise NotRunnable(TO_BUILD)
    call = _call(path)
    bins = choice.parameter or 0
    answer = cupy.empty({"prefix sum": choice.n, "selection": choice.n, "row sums": choice.n, "histogram": bins}.get(
        operation, 1), values.dtype)  # fmt: skip
    found = cupy.zeros(1, np.int32)
    needed = ctypes.c_size_t(0)

    def with_memory(address: int | None) -> partial[int]:
        return partial(call, address, ctypes.byref(needed), values.data.ptr, answer.data.ptr, choice.n, bins,
                       found.data.ptr, stream().ptr)  # fmt: skip

    _check(with_memory(None)())
    temporary = cupy.cuda.alloc(max(1, needed.value))
    enqueue = with_memory(temporary.ptr)
    _check(enqueue())

    def kept(alive: object = (temporary, found, values)) -> Any:
        return answer[: prepared.plan.result_count]

    return peer_of(NVCC_CUB, enqueue, kept)


def placed(prepared: Prepared, operation: str) -> Peer:
    """Build a call that finds a number and its index; otherwise as `built`."""
    choice, values = prepared.plan.choice, input_of(prepared)
    path = nvcc.path_of(SOURCE, macros(operation, choice.dtype), architecture())
    if not path.exists():
        raise NotRunnable(TO_BUILD)
    number, place = cupy.empty(1, values.dtype), cupy.zeros(1, np.int32)
    needed = ctypes.c_size_t(0)

    def with_memory(address: int | None) -> partial[int]:
        return partial(_call(path), address, ctypes.byref(needed), values.data.ptr, number.data.ptr, choice.n, 0,
                       place.data.ptr, stream().ptr)  # fmt: skip

    _check(with_memory(None)())
    temporary = cupy.cuda.alloc(max(1, needed.value))

    def answer(alive: object = temporary) -> Any:
        return cupy.concatenate((number.astype(np.float64), place.astype(np.float64)))

    return peer_of(NVCC_CUB, with_memory(temporary.ptr), answer)


def macros(operation: str, dtype: str) -> dict[str, str]:
    """Return the macros that choose a call and its type in SOURCE."""
    return {"OPERATION": operation.upper().replace(" ", "_"), "ELEMENT": C_TYPES[dtype]}


@lru_cache(maxsize=32)
def _call(path: Path) -> Any:
    function = ctypes.CDLL(str(path)).cub_call
    pointer, number = ctypes.c_void_p, ctypes.c_int64
    function.argtypes = (pointer, pointer, pointer, pointer, number, number, pointer, pointer)
    function.restype = ctypes.c_int
    return function


def _check(status: int) -> None:
    if status:
        raise NotRunnable(f"CUB does not start here: CUDA error {status}.")

"""Libraries that CuPy includes: its built-in CUB, and copies and integrals in CuPy's usual style."""

from __future__ import annotations

from collections.abc import Callable
from functools import lru_cache
from typing import Any

import cupy
import numpy as np
from cupy.cuda import cub

from engine.backends.gpu.launches import Prepared
from engine.backends.gpu.peer import Peer, input_of, number_and_place, peer_of
from engine.catalogue import kernel_named, trapezoid
from engine.catalogue.libraries import CUB, CUPY
from engine.catalogue.plans import value_of_parameter as knob  # the digest of methods holds this name
from engine.records import NotRunnable


def reduced(prepared: Prepared, operation: str) -> Peer:
    """Build CUB's DeviceReduce for an operator other than the sum."""
    _check_cub()
    code = {"product": cub.CUPY_CUB_PROD, "minimum": cub.CUPY_CUB_MIN, "maximum": cub.CUPY_CUB_MAX}[operation]
    values = input_of(prepared)
    answer: list[Any] = [None]

    def enqueue() -> None:
        answer[0] = cub.device_reduce(values, code, (0,), (), None, False)

    return peer_of(CUB, enqueue, lambda: answer[0])


def scanned(prepared: Prepared, operation: str) -> Peer:
    """Build CUB's DeviceScan as CuPy calls it: in place, so each run scans the result of the run before."""
    _check_cub()
    values = input_of(prepared)
    place = cupy.empty_like(values)

    def enqueue() -> object:
        return cub.device_scan(place, cub.CUPY_CUB_CUMSUM)

    def answer() -> Any:
        cupy.copyto(place, values)
        enqueue()
        return place

    return peer_of(CUB, enqueue, answer)


def copied(prepared: Prepared, operation: str) -> Peer:
    """Build a contiguous copy of a slice with an offset or a stride: a copy by the driver, or CuPy's kernel."""
    plan = prepared.plan
    step = knob(kernel_named(plan.choice.kernel), plan.choice)
    values, n = input_of(prepared), plan.choice.n
    view = values[step : step + n] if plan.choice.kernel == "copy_offset" else values[: n * step : step]
    place = cupy.empty(n, values.dtype)
    return peer_of(CUPY, lambda: cupy.copyto(place, view), lambda: place)


def cut(prepared: Prepared, operation: str) -> Peer:
    """Build a contiguous copy of the slice from the kernel's offset on: a copy by the driver."""
    choice = prepared.plan.choice
    view = input_of(prepared)[knob(kernel_named(choice.kernel), choice) :]
    place = cupy.empty_like(view)
    return peer_of(CUPY, lambda: cupy.copyto(place, view), lambda: place)


def transposed(prepared: Prepared, operation: str) -> Peer:
    """Build a contiguous copy of the transposed matrix, by CuPy's copy kernel."""
    n = prepared.plan.choice.n
    matrix = input_of(prepared).reshape(n, n)
    answer: list[Any] = [None]

    def enqueue() -> None:
        answer[0] = cupy.ascontiguousarray(matrix.T)

    return peer_of(CUPY, enqueue, lambda: answer[0].ravel())


def placed(prepared: Prepared, operation: str) -> Peer:
    """Build `values.argmax()`: it finds the index alone; the value is looked up outside the timing."""
    values = input_of(prepared)
    place: list[Any] = [None]

    def enqueue() -> None:
        place[0] = values.argmax()

    return peer_of(CUPY, enqueue, lambda: number_and_place(values, place[0]))


def integrated(prepared: Prepared, operation: str) -> Peer:
    """Build an elementwise kernel that evaluates f at every point, and the sum of its array."""
    n = prepared.plan.choice.n
    values = cupy.empty(n, np.float64)
    width = (trapezoid.B - trapezoid.A) / (n - 1)
    answer: list[Any] = [None]

    def enqueue() -> None:
        _evaluate()(trapezoid.A, width, n, values)
        answer[0] = values.sum()

    return peer_of(CUPY, enqueue, lambda: answer[0])


@lru_cache(maxsize=1)
def _evaluate() -> Callable[..., object]:
    kernel: Callable[..., object] = cupy.ElementwiseKernel(
        "float64 a, float64 h, uint32 n",
        "float64 part",
        """
        double x = a + i * h, g = 2.0 + x * (-1.0 + x * (0.5 - x * 0.2));
        part = (i == 0 || i == n - 1 ? 0.5 * h : h) * (sin(g) + 2 * cos(g));
        """,
        "weighted_f",
    )
    return kernel


def _check_cub() -> None:
    if not cub.available:
        raise NotRunnable("This CuPy was built without CUB.")

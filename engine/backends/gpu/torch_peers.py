"""PyTorch's operations on the plan's own memory and stream. PyTorch is imported on first use, which takes 2 seconds."""

from __future__ import annotations

from collections.abc import Callable
from functools import lru_cache
from typing import Any

import cupy

from engine.backends.gpu.launches import Prepared
from engine.backends.gpu.memory import stream
from engine.backends.gpu.peer import Peer, input_of, number_and_place, peer_of
from engine.catalogue.libraries import TORCH
from engine.catalogue.memory_checks import SIDE
from engine.records import NotRunnable


def shared(prepared: Prepared, operation: str) -> Peer:
    """Build the operation on the plan's input. NotRunnable: PyTorch is missing, or sees no GPU."""
    torch, on = _torch()
    torch.cuda.set_stream(on)  # set once for this thread, because setting it for each call would take 10 us
    choice = prepared.plan.choice
    values = torch.as_tensor(input_of(prepared), device="cuda")  # shares the memory
    work = _WORK[operation](torch, values, choice.n, choice.parameter or 1)
    answer: list[Any] = [None]

    def enqueue() -> None:
        answer[0] = work()

    return peer_of(TORCH, enqueue, lambda: cupy.asarray(answer[0]))


def further(prepared: Prepared, operation: str) -> Peer:
    """Build an operation of _FURTHER, as `shared` does. It is separate, so the digest of earlier timings stays."""
    torch, on = _torch()
    torch.cuda.set_stream(on)
    values = input_of(prepared)
    work = _FURTHER[operation](torch.as_tensor(values, device="cuda"), prepared.plan.choice.n)
    made: list[Any] = [None]

    def enqueue() -> None:
        made[0] = work()

    def answer() -> Any:
        found = cupy.asarray(made[0])
        return number_and_place(values, found) if operation == "argmax" else found.ravel()

    return peer_of(TORCH, enqueue, answer)


@lru_cache(maxsize=1)
def _torch() -> tuple[Any, Any]:
    try:
        import torch
    except ImportError:
        raise NotRunnable("PyTorch is not installed: `pip install torch` brings it.") from None
    if not torch.cuda.is_available():
        raise NotRunnable("This PyTorch was built without CUDA, or sees no GPU.")
    return torch, torch.cuda.ExternalStream(stream().ptr)


def _by_column(torch: Any, values: Any, n: int, width: int) -> Callable[[], Any]:
    """Return the sums of the columns of a matrix of that width, stored row by row."""
    if n % width:
        raise NotRunnable(f"As a matrix {width:,} wide, {n:,} numbers have a ragged last row.")
    return lambda: values.view(-1, width).sum(0, dtype=values.dtype)


_Work = Callable[[Any, Any, int, int], Callable[[], Any]]

# (torch, the input, n, the kernel's parameter) -> the work; sums and products keep the elements' type
_WORK: dict[str, _Work] = {
    "sum": lambda torch, values, n, knob: lambda: values.sum(dtype=values.dtype),
    "product": lambda torch, values, n, knob: lambda: values.prod(dtype=values.dtype),
    "minimum": lambda torch, values, n, knob: values.amin,
    "maximum": lambda torch, values, n, knob: values.amax,
    "prefix sum": lambda torch, values, n, knob: lambda: values.cumsum(0, dtype=values.dtype),
    "row sums": lambda torch, values, n, knob: lambda: values.view(n, n).sum(1, dtype=values.dtype),
    "sums of short rows": lambda torch, values, n, knob: lambda: values.view(-1, SIDE)[:n].sum(1, dtype=values.dtype),
    "column sums": lambda torch, values, n, knob: _by_column(torch, values, n * n, n),
    "sums by address": _by_column,
}


def _turned(values: Any, n: int) -> Callable[[], Any]:
    return values.view(n, n).t().contiguous  # type: ignore[no-any-return]


def _placed(values: Any, n: int) -> Callable[[], Any]:
    return values.argmax  # type: ignore[no-any-return]


# (the input, n) -> the work, as in _WORK
_FURTHER: dict[str, Callable[[Any, int], Callable[[], Any]]] = {"transpose": _turned, "argmax": _placed}

"""The record of a library's work beside a prepared plan."""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import dataclass
from typing import Any

import cupy
import numpy as np

from engine.backends.gpu.launches import Prepared
from engine.backends.gpu.memory import stream


@dataclass(frozen=True)
class Peer:
    """A library's work. `enqueue()` puts it on the current stream; `fetch()` waits for it and returns its answer.

    `answer()`: the answer on the device, if it is an array in the plan's order.
    """

    name: str
    enqueue: Callable[[], object]
    fetch: Callable[[], Any]
    answer: Callable[[], Any] | None = None


def input_of(prepared: Prepared) -> Any:
    """Return the one array that the plan reads, shape (count,)."""
    (values,) = (prepared.arrays[buffer.name] for buffer in prepared.plan.buffers if buffer.fill == "input")
    return values


def number_and_place(values: Any, place: Any) -> Any:
    """Return an argmax's pair (value, index) for the index that a library found; shape (2,), float64."""
    at = place.reshape(1)
    return cupy.concatenate((values[at].astype(np.float64), at.astype(np.float64)))


def peer_of(name: str, enqueue: Callable[[], object], answer: Callable[[], Any]) -> Peer:
    """Return a Peer whose answer is the value of `answer()` on the device; shape (k,) or ()."""
    return Peer(name, enqueue, lambda: answer().get(stream=stream()).reshape(-1), answer)

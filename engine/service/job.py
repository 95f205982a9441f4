"""What is asked of a worker."""

from __future__ import annotations

from dataclasses import dataclass
from typing import Any


@dataclass(frozen=True)
class Job:
    """One call of `function`, "package.module:function", in a worker: function(*args, **dict(keywords)).

    A function with a parameter `progress` is given one: progress(fraction, text). `deadline`: seconds, from the moment
    the worker takes the job. `key`: jobs of equal key are the same job: they share one run, and its value is kept.
    None: never shared or kept. `device`: "gpu" or "emulator", what it needs; None: what the queue's first slot has.
    `n` and `memory`: the size of what it computes and the bytes of its arrays, which may be limited; 0 where unknown.
    `model`: of the GPU, as NVIDIA calls it; None: the one that the queue has most of. `kind` and `operations`: jobs of
    a function and kind take as long for each operation; 0 where nobody counts them.
    """

    function: str
    args: tuple[Any, ...] = ()
    deadline: float = 10.0
    key: str | None = None
    keywords: tuple[tuple[str, Any], ...] = ()
    device: str | None = None
    n: int = 0
    memory: int = 0
    model: str | None = None
    kind: str = ""
    operations: int = 0

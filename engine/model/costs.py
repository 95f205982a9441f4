"""What a launch asks of the GPU, as counts: the input of the model."""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass


@dataclass(frozen=True)
class LineCosts:
    """The costs of one source line over a launch. `issued`: warp instructions by kind; `memory`: counters by name."""

    line: int
    issued: Mapping[str, int]
    memory: Mapping[str, float]


@dataclass(frozen=True)
class LaunchCosts:
    """The costs of one launch.

    `threads`: of a block; `shared_bytes`: of a block. `issued`: warp instructions of the PTX by kind. `memory`:
    requests, sectors, wavefronts, atomics and barriers by name. `path`: of the slowest followed block, what its slowest
    warp waits for, by kind. `in_flight`: the most bytes of global memory that a thread of it waits for at once.
    `spins`: a loop that ran waits until other threads write. `registers`, `machine_in_flight`: of the machine code:
    registers a thread, and the most bytes a thread waits for at once; None: the code does not show it. `lines`: the
    costs of each source line. `prints`: it called printf.
    """

    kernel: str
    blocks: int
    threads: int
    shared_bytes: int
    issued: Mapping[str, int]
    memory: Mapping[str, float]
    path: Mapping[str, float]
    in_flight: int
    spins: bool = False
    registers: int = 0
    machine_in_flight: int | None = None
    lines: tuple[LineCosts, ...] = ()
    prints: bool = False

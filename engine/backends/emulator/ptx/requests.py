"""What the assembler asks of shared memory where that is not what the PTX says."""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass, field


@dataclass(frozen=True)
class Request:
    """What the assembler asks of shared memory where the PTX has a load or store.

    `size`: bytes of a lane at once; 0: nothing, as another request brings them along. Where a loop's turns are joined,
    only one turn asks: the one where the address, moved by `shift`, is in the first `below` bytes of `size`.
    """

    size: int
    shift: int = 0
    below: int = 0


NO_REQUEST = Request(0)


@dataclass(frozen=True)
class Requests:
    """By the line of the PTX: what differs from the PTX. `unsure`: the .cu lines where it is not known."""

    by_place: Mapping[int, Request] = field(default_factory=dict)
    unsure: frozenset[int] = frozenset()

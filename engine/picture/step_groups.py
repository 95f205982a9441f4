"""A trace cut into beats, one movement of the picture each: lanes take values, combine them and put them away.

A branch and a barrier are beats of their own. Otherwise a beat is at most one round of loads and shuffles, one of each
array in global memory, then what is combined, then what is stored, all by the same lanes; instructions that only
compute go with it.
"""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass, field

from engine.backends.emulator.watching.trace import TracedStep

_LINE = 4  # sectors: 128 bytes come from global memory at once


@dataclass
class Beat:
    """Steps that are shown together, all of the same lanes."""

    steps: list[TracedStep] = field(default_factory=list)
    order: int = 0  # how far its round has come: 0 taking, 1 combining, 2 putting away
    closed: bool = False

    @property
    def lanes(self) -> tuple[int, ...]:
        """One 32-bit set of active lanes a warp."""
        return self.steps[0].lanes

    @property
    def slots(self) -> int:
        """Its share of time: a slot for every instruction that a warp issues, and one for every pass that memory needs
        beyond its first: wavefronts of shared memory, 128 bytes from global memory."""
        return sum(map(slots_of, self.steps))

    @property
    def multiplies(self) -> bool:
        """Whether it multiplies and adds."""
        return any(step.carried is not None and step.opcode.startswith(("fma", "mad")) for step in self.steps)


def slots_of(step: TracedStep) -> int:
    """The issue slots of one step."""
    issued = step.instructions * sum(1 for lanes in step.lanes if lanes)
    whole = 1 if step.space == "shared" else _LINE
    return issued + sum(-(-request.passes // whole) - 1 for request in step.requests)


def cut(steps: Sequence[TracedStep]) -> list[Beat]:
    """The beats of a trace, in their order."""
    beats: list[Beat] = []
    for step in steps:
        now = beats[-1] if beats else None
        if now is None or now.closed or step.lanes != now.lanes or _begins(step, now):
            now = Beat()
            beats.append(now)
        now.steps.append(step)
        now.order = max(now.order, _order(step))
        now.closed = step.kind in ("branch", "barrier")
    return beats


def _order(step: TracedStep) -> int:
    if step.kind in ("store", "atomic"):
        return 2
    return 1 if step.kind == "compute" and step.carried is not None else 0


def _begins(step: TracedStep, now: Beat) -> bool:
    """Whether a step begins a new round."""
    if step.kind in ("branch", "barrier"):
        return True
    if step.kind == "compute" and step.carried is None:
        return False
    if step.kind == "sync" and step.carried is None:  # the warp meets: nothing moves
        return False
    if step.kind == "sync":  # a shuffle comes after all else
        return any(each.requests or each.carried is not None for each in now.steps)
    if step.kind == "load" and step.space == "global":
        return now.order > 0 or any((it.kind, it.space, it.array) == ("load", "global", step.array) for it in now.steps)
    return _order(step) < now.order or _order(step) == now.order == 2

"""A trace cut into step groups, one movement of the picture each: lanes load values, combine them and store them.

A branch and a barrier are groups of their own. Any other group is at most one round by the same lanes: loads and
shuffles (one per array in global memory), then sums, then stores. Instructions that only compute belong to the group
around them.
"""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass, field

from engine.backends.emulator.watching.trace import TracedStep

_LINE = 4  # sectors: global memory delivers 128 bytes at once


@dataclass
class StepGroup:
    """Steps that are shown together, all of the same lanes."""

    steps: list[TracedStep] = field(default_factory=list)
    order: int = 0  # the phase of its round: 0 loads, 1 sums, 2 stores
    closed: bool = False

    @property
    def lanes(self) -> tuple[int, ...]:
        """One 32-bit set of active lanes per warp."""
        return self.steps[0].lanes

    @property
    def slots(self) -> int:
        """Its share of the time: one slot per issued instruction of a warp, and one per further wavefront of shared
        memory or per further 128 bytes of global memory."""
        return sum(map(slots_of, self.steps))

    @property
    def multiplies(self) -> bool:
        """Return whether it contains a multiply-add."""
        return any(step.carried is not None and step.opcode.startswith(("fma", "mad")) for step in self.steps)


def slots_of(step: TracedStep) -> int:
    """Return the issue slots of one step."""
    issued = step.instructions * sum(1 for lanes in step.lanes if lanes)
    whole = 1 if step.space == "shared" else _LINE
    return issued + sum(-(-request.passes // whole) - 1 for request in step.requests)


def group_steps(steps: Sequence[TracedStep]) -> list[StepGroup]:
    """Cut a trace into step groups, in order."""
    beats: list[StepGroup] = []
    for step in steps:
        now = beats[-1] if beats else None
        if now is None or now.closed or step.lanes != now.lanes or _begins(step, now):
            now = StepGroup()
            beats.append(now)
        now.steps.append(step)
        now.order = max(now.order, _order(step))
        now.closed = step.kind in ("branch", "barrier")
    return beats


def _order(step: TracedStep) -> int:
    if step.kind in ("store", "atomic"):
        return 2
    return 1 if step.kind == "compute" and step.carried is not None else 0


def _begins(step: TracedStep, now: StepGroup) -> bool:
    """Return whether a step begins a new round."""
    if step.kind in ("branch", "barrier"):
        return True
    if step.kind == "compute" and step.carried is None:
        return False
    if step.kind == "sync" and step.carried is None:  # the warp converges: nothing moves
        return False
    if step.kind == "sync":  # a shuffle comes last
        return any(each.requests or each.carried is not None for each in now.steps)
    if step.kind == "load" and step.space == "global":
        return now.order > 0 or any((it.kind, it.space, it.array) == ("load", "global", step.array) for it in now.steps)
    return _order(step) < now.order or _order(step) == now.order == 2

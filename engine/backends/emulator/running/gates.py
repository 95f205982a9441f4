"""Gates: instructions before which lanes stand until what they wait for has come, or nobody else can go on."""

from __future__ import annotations

from collections.abc import Iterator

from engine.backends.emulator.registers.masks import Mask
from engine.backends.emulator.running.code import Code
from engine.backends.emulator.running.lanes import Lanes

_PATIENCE = 64  # times that lanes are let go on in vain, while nobody else can: a program may do something else then


class Gates:
    """Those of a chunk. `shut`: the places of those before which lanes are parked."""

    def __init__(self, lanes: Lanes) -> None:
        self._lanes = lanes
        self.shut: set[int] = set()
        self._seen = self._vain = 0

    def let_on(self, code: Code, place: int, mask: Mask) -> Mask | None:
        """The lanes that need not wait; the others are parked."""
        assert code.gate is not None
        lanes = self._lanes
        lanes.registers = lanes.frames.of(place).registers
        parked = lanes.parked.pop(place, None)
        if parked is not None:
            mask = lanes.masks.union(parked, mask)
        on, waiting = lanes.masks.split(mask, code.gate.passed(lanes.inside(code, mask), mask))
        self.shut.discard(place)
        if waiting is not None:
            lanes.parked[place] = waiting
            self.shut.add(place)
        return on

    def may_open(self) -> bool:
        """Whether a barrier has changed since the last time that this was asked."""
        changes, before = self._lanes.machine.resident.phases.changes, self._seen
        self._seen = changes
        return changes != before

    def opened(self) -> Iterator[tuple[int, Mask]]:
        """The lanes that wait leave their places, to look again."""
        self._vain = 0
        for place in sorted(self.shut):
            yield place, self._lanes.parked.pop(place)
        self.shut.clear()

    def give_up(self, code: Code, place: int, mask: Mask) -> None:
        """Lanes go on in vain, as nobody else can. RunFailed, if that has been so for long."""
        assert code.gate is not None
        self.shut.discard(place)
        self._vain += 1
        if self._vain > _PATIENCE:
            lanes, item = self._lanes, code.block.body[0]
            lanes.registers = lanes.frames.of(place).registers
            lacking = code.gate.lacking(lanes.inside(code, mask), mask)
            clause = f"{lanes.name(mask)} waits for a phase of a barrier that never ends: {lacking}"
            raise lanes.machine.failure("deadlock", clause, item.line, "divergent-barrier")

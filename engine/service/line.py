"""One kind of worker: who serves, what waits, and how long that takes."""

from __future__ import annotations

import time
from collections.abc import Iterator
from typing import Generic, TypeVar

from engine.service.durations import Durations
from engine.service.failures import Rejected
from engine.service.job import Job
from engine.service.slot import Slot
from engine.service.turns import Turns

T = TypeVar("T")


class Line(Generic[T]):
    """The slots of one device and, of GPUs, one model, and what waits for them. Whoever shares it locks it."""

    def __init__(self, device: str, model: str | None) -> None:
        self.device, self.model = device, model
        self.slots: list[Slot] = []
        self.waiting: Turns[T] = Turns()
        self.durations = Durations()
        self._deserted = 0.0

    def drop(self, slot: Slot) -> None:
        """The slot serves no more; it may be gone already."""
        if slot in self.slots:
            self.slots.remove(slot)
            self._deserted = time.monotonic()

    def deserted_s(self) -> float:
        """For how long nobody has served; 0 while somebody does."""
        return 0.0 if self.slots else time.monotonic() - self._deserted


class Lines(Generic[T]):
    """A line for each kind of worker that serves, or did a moment ago. Whoever shares it locks it."""

    def __init__(self) -> None:
        self._lines: dict[tuple[str, str | None], Line[T]] = {}

    def __iter__(self) -> Iterator[Line[T]]:
        return iter(self._lines.values())

    def add(self, slot: Slot) -> Line[T]:
        """The line that the slot serves from now on."""
        model = slot.name if slot.device == "gpu" else None
        line = self._lines.setdefault((slot.device, model), Line(slot.device, model))
        line.slots.append(slot)
        return line

    def drop(self, slot: Slot) -> None:
        """The slot serves no more."""
        for line in self:
            line.drop(slot)

    def fit(self, job: Job) -> Line[T]:
        """Where the job waits: the model that it asks for, or else what there is most of. Rejected: there is none."""
        device = job.device or next((line.device for line in self), "worker")
        fit = [line for line in self if line.device == device and job.model in (None, line.model)]
        if not fit:
            raise Rejected(f"There is no {job.model or device} to run on.")
        return max(fit, key=lambda line: len(line.slots))

    def give_up(self, absent_s: float) -> list[T]:
        """Forget every line where nobody has served for so long; returns what waited there, in its order."""
        left: list[T] = []
        for kind, line in list(self._lines.items()):
            if not line.slots and line.deserted_s() >= absent_s:
                del self._lines[kind]
                left += line.waiting
        return left

"""The queue at a moment: who serves, and what there is to do."""

from __future__ import annotations

from collections import Counter
from collections.abc import Container, Iterable
from dataclasses import dataclass
from typing import Any

from engine.service.line import Line
from engine.service.slot import Slot


@dataclass(frozen=True)
class Serving:
    """So many worker slots of one host have this device; `name`: of a GPU its model."""

    host: str
    device: str
    name: str
    workers: int


@dataclass(frozen=True)
class QueueState:
    """The queue at this moment, by device; `serving`: who does the work; `sessions`: how many have an unfinished job;
    `joined` and `kept`: how many requests an equal one has answered since the start, that was running or had ended."""

    serving: tuple[Serving, ...]
    workers: dict[str, int]
    running: dict[str, int]
    waiting: dict[str, int]
    sessions: int
    joined: int
    kept: int


def state_of(lines: Iterable[Line[Any]], busy: Container[Slot], sessions: int, joined: int, kept: int) -> QueueState:
    """The state of a queue with these lines; `busy`: the slots that are at a run."""
    serving: Counter[tuple[str, str, str]] = Counter()
    workers, running, waiting = Counter[str](), Counter[str](), Counter[str]()
    for line in lines:
        serving.update((slot.host, slot.device, slot.name) for slot in line.slots)
        workers[line.device] += len(line.slots)
        running[line.device] += sum(slot in busy for slot in line.slots)
        waiting[line.device] += len(line.waiting)
    who = tuple(Serving(*one, count) for one, count in serving.items())
    return QueueState(who, dict(workers), dict(running), dict(waiting), sessions, joined, kept)


def hosts_text(serving: Iterable[Serving]) -> str:
    """Who serves, in words: "lab-1: 2 x NVIDIA H200, 15 x emulator; lab-2: ...". "" if nobody does."""
    by_host: dict[str, list[str]] = {}
    for one in sorted(serving, key=lambda one: (one.host, one.device != "gpu", one.name)):
        by_host.setdefault(one.host, []).append(f"{one.workers} x {one.name}")
    return "; ".join(f"{host}: {', '.join(what)}" for host, what in by_host.items())

"""Run a small kernel in every order of its threads' memory accesses.

Every thread is a crew of its own under the schedule "independent". A thread stops before each access; threads that are
about to access nothing run on at once, because their order changes nothing. A thread that has just read a word does not
read it again before another thread has accessed memory: a waiting loop has finitely many orders. Before any access one
of the delayed stores may arrive.
"""

from __future__ import annotations

from collections.abc import Iterator, Sequence
from dataclasses import dataclass
from typing import Any

import numpy as np
import pytest

from engine.backends.emulator.loading import load
from engine.backends.emulator.ptx.program import BasicBlock, Program, cut_at_atomics
from engine.backends.emulator.ptx.traits import traits_of
from engine.backends.emulator.running import lanes
from engine.backends.emulator.state.schedule import Schedule
from engine.backends.emulator.state.store_buffer import StoreBuffer
from engine.backends.emulator.watching.races.hazards import Hazards
from engine.records import Array, Source
from tests.backends.emulator.small_kernels import execute, zeros

Outcome = tuple[int, ...]
_MOST_ORDERS = 5_000


@dataclass
class Choices:
    """The decisions of one run: those that are given, then always the first group; and how many groups there were."""

    given: list[int]
    counts: list[int]

    def pick(self, count: int) -> int:
        """Return the next decision between `count` groups."""
        at = len(self.counts)
        self.counts.append(count)
        return self.given[at] if at < len(self.given) else 0

    def following(self) -> list[int] | None:
        """Return the decisions of the next run, depth first; None after the last one."""
        taken = [self.given[at] if at < len(self.given) else 0 for at in range(len(self.counts))]
        while taken and taken[-1] + 1 == self.counts[len(taken) - 1]:
            taken.pop()
        return [*taken[:-1], taken[-1] + 1] if taken else None


class EveryThread:
    """Crews of one thread each, of which `choices` picks the next one that is about to access memory."""

    turns = None

    def __init__(self, program: Program, crews: list[Array], choices: Choices) -> None:
        self._program, self._crews, self._choices = program, crews, choices
        self._last = (-1, -1)

    def deal(self) -> list[tuple[Array, None]]:
        """Return the crews, in all blocks."""
        return [(crew, None) for crew in self._crews]

    def choose(self, keys: list[tuple[int, int]]) -> tuple[int, int]:
        """Return the group that runs next."""
        keys = sorted(keys, key=lambda key: key[1])
        quiet = [key for key in keys if not accesses_memory(self._program.block_at(key[0]))]
        if quiet:
            return quiet[0]
        if len(keys) > 1 and self._last in keys and only_reads(self._program.block_at(self._last[0])):
            keys.remove(self._last)
        self._last = keys[self._choices.pick(len(keys))]
        return self._last


def accesses_memory(block: BasicBlock) -> bool:
    """Return whether other threads may see when this block runs: it accesses memory, or its fence drains stores."""
    return any(
        (traits_of(item.opcode).memory and item.space not in ("param", "local", "const"))
        or item.words[0] in ("fence", "membar")
        for item in block.body
    )


def due(held: Sequence[Any], block: BasicBlock, choices: Choices) -> Sequence[Any]:
    """Return no delayed store, or one, which arrives before `block` accesses memory."""
    arrives = accesses_memory(block) and choices.pick(2) == 1
    return [held[choices.pick(len(held))]] if arrives else []


def only_reads(block: BasicBlock) -> bool:
    """Return whether this block changes no memory."""
    return all(traits_of(item.opcode).memory in ("", "load") for item in block.body)


def outcomes(text: str, name: str, threads: int, where: str) -> Iterator[tuple[Outcome, tuple[str, ...]]]:
    """Yield what the threads read in each order, and the kinds of findings of that run.

    `where` the threads are: "lanes" of a warp, "warps" of a block (the first lane of each), or "blocks" of a grid (in
    block number k the first lane of warp k).
    """
    source = Source("test.cu", text, "int32")
    program = cut_at_atomics(load(source, name))
    block = 32 if where == "lanes" else 32 * threads
    rows = np.arange(block)
    each = rows if where == "lanes" else rows // 32
    crews = [each == number for number in range(threads)] + [each >= threads] * bool((each >= threads).any())
    given: list[int] | None = []
    for _ in range(_MOST_ORDERS):
        choices, hazards = Choices(given, []), Hazards()
        with pytest.MonkeyPatch.context() as patch:
            patch.setattr(lanes, "Crews", lambda *_, of=choices: EveryThread(program, crews, of))
            patch.setattr(StoreBuffer, "due", lambda _, held, block, of=choices: due(held, block, of))
            made = execute(
                text, threads if where == "blocks" else 1, block, name=name, observers=[hazards],
                schedule=Schedule("independent"), cooperative=where == "blocks", x=zeros(96),
                o=np.array([0] * 8 + [1] + [0] * 3, np.int32),
            )  # fmt: skip
        yield tuple(made["o"][: 2 * threads].tolist()), tuple(finding.kind for finding in hazards.findings())
        given = choices.following()
        if given is None:
            return
    raise AssertionError(f"{name} has more than {_MOST_ORDERS} orders")

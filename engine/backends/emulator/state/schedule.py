"""The order in which lanes run: a choice, because CUDA leaves it open.

* "lockstep": the lanes of a warp run together and wait for each other where their paths meet, as up to Pascal.
  The group of lanes with the smallest program counter runs first.
* "independent": any lane may run ahead of the others of its warp until they must converge, as since Volta. The last
  blocks run first, the lanes of an atomic take turns in a random order, and volatile stores may arrive late
  (`store_buffer`). Other blocks may run between two atomics of a block (`ptx.program.cut_at_atomics`). If a loop polls
  memory in a small launch, blocks or warps take turns at each access to a flag (`Turns`). `seed` determines the
  order; each seed gives one legal and adversarial execution.
* "waves": lockstep, with `blocks_per_wave` blocks at a time; the next wave starts when the last one has ended.
"""

from __future__ import annotations

import random
from dataclasses import dataclass
from typing import Literal

import numpy as np

from engine.backends.emulator.registers.masks import WARP
from engine.records import SCHEDULES, Array, NotRunnable
from engine.records.words import digits


@dataclass(frozen=True)
class Schedule:
    """A legal order of execution. `blocks_per_wave` None: as many blocks as fit a chunk."""

    kind: Literal["lockstep", "independent", "waves"] = "lockstep"
    seed: int = 0
    blocks_per_wave: int | None = None


LOCKSTEP = Schedule()
# Of programs whose loops poll memory. Chosen for the most wrong queues, locks and barriers that one order finds.
_APART = 0.85  # how often the crews are whole blocks or warps
_MOST_CREWS = 8
_IN_ROUNDS, _ROUNDS = 0.5, 2  # how often crews start in rounds, and how many rounds
_TURNS_OF_A_PHASE = 20  # on average, until others are slow
_BY_CREW = 0.5  # in how many phases crews are slow, and not groups
_SLOW_CREWS, _SLOW_GROUPS = 0.5, 0.3  # how many are slow
_STANDING, _MOST_STANDING = 0.75, 100  # in how many phases the slow ones stand still, and the turns of such a phase
_MOST_TURNS = 1000  # of a run
_RARE = 0.02  # the chance of a group that is slow or waits, beside 1


def parse_schedule(text: str | None) -> Schedule:
    """Return the schedule of "lockstep", "independent:SEED" or "waves:BLOCKS"; None is lockstep. NotRunnable for
    others."""
    kind, _, number = (text or "lockstep").partition(":")
    if kind == "lockstep" and not number:
        return LOCKSTEP
    given = digits(number)
    if kind == "independent" and (not number or given is not None):
        return Schedule("independent", seed=given or 0)
    if kind == "waves" and given:
        return Schedule("waves", blocks_per_wave=given)
    raise NotRunnable(f"A schedule is {', '.join(SCHEDULES[:-1])} or {SCHEDULES[-1]} (at least 1), not {text!r}.")


def schedule_line(schedule: Schedule) -> str:
    """Return the name of a schedule: "independent lanes, seed 3"."""
    if schedule.kind == "waves":
        count = schedule.blocks_per_wave
        return f"waves of {count:,} block{'s' * (count > 1)}" if count else "waves of blocks"
    return f"independent lanes, seed {schedule.seed}" if schedule.kind == "independent" else "lockstep warps"


class Turns:
    """The turns of crews in a program whose loops poll memory: a crew runs up to its next access to a flag.

    In half of the runs the crews first take turns, in an order that each round reverses, and one of three or more crews
    stays behind. So a crew reads a flag before the one that sets it has gone on. Then each turn is drawn, in phases:
    some crews, or some groups, hardly get any turn, or stand still until all others wait. So one crew fills a queue
    while another one stands between two accesses. A group whose loop has polled in vain waits for the next write.
    """

    def __init__(self, draw: random.Random) -> None:
        self._random = draw
        self._order: list[int] = []
        self._round: list[int] = []
        self._left = -1  # turns of the first part; below 0 before the first one
        self._standing = 0  # turns for which the slow ones still stand
        self._slow: dict[tuple[int, int] | int, bool] = {}  # by group or by crew
        self._by_crew = True
        self._waiting: set[tuple[int, int]] = set()
        self._running = -1  # the crew that has not come to a flag yet
        self._rest = _MOST_TURNS

    @property
    def over(self) -> bool:
        """Return whether crews take no more turns: in a long run they would take too long."""
        return self._rest < 0

    @property
    def some_stand(self) -> bool:
        """Return whether some crews or groups stand still."""
        return self._standing > 0

    def choose(self, keys: list[tuple[int, int]]) -> tuple[int, int]:
        """Return the group that runs next."""
        ready = [key for key in keys if key[1] == self._running and key not in self._waiting]
        key = self._random.choice(ready or self._in_round(keys) or self._drawn(keys))
        self._waiting.discard(key)
        self._rest -= not ready
        self._running = key[1]
        return key

    def ready(self, keys: list[tuple[int, int]]) -> list[tuple[int, int]]:
        """Return the groups that do not wait for a write; all, if every group waits."""
        ready = [key for key in keys if key not in self._waiting]
        if not ready:
            self._waiting.clear()
        return ready or keys

    def note(self, again: tuple[int, int] | None, flag: str) -> None:
        """Note what the chosen group did: `again`, the group that polls once more; `flag`: "read", "write" or ""."""
        if again is not None:
            self._waiting.add(again)
        elif flag == "write":
            self._waiting.clear()
        if flag:
            self._running = -1

    def _in_round(self, keys: list[tuple[int, int]]) -> list[tuple[int, int]]:
        """Return the groups of the crew whose turn it is; none after the first part, or if all of its crews wait."""
        if self._left < 0:
            self._order = sorted({crew for _, crew in keys})
            self._random.shuffle(self._order)
            self._left = _ROUNDS * len(self._order) * (self._random.random() < _IN_ROUNDS)
            if len(self._order) > 2:
                self._order.pop()
        for _ in range(2 * len(self._order) if self._left else 0):
            if not self._round:
                self._round = list(self._order)
                self._order.reverse()
            crew = self._round.pop()
            ready = [key for key in keys if key[1] == crew and key not in self._waiting]
            if ready:
                self._left -= 1
                return ready
        return []

    def _drawn(self, keys: list[tuple[int, int]]) -> list[tuple[int, int]]:
        """Return one group, drawn."""
        self._standing -= 1
        over = not self._slow or (not self.some_stand and self._random.random() < 1 / _TURNS_OF_A_PHASE)
        if over or not any(self._chances(keys)):
            self._slow.clear()
            self._by_crew = self._random.random() < _BY_CREW
            self._standing = _MOST_STANDING * (self._random.random() < _STANDING)
        if not any(chances := self._chances(keys)):
            self._standing = 0
            chances = self._chances(keys)
        return self._random.choices(keys, chances)

    def _chances(self, keys: list[tuple[int, int]]) -> list[float]:
        rare = 0.0 if self.some_stand else _RARE
        return [rare ** ((key in self._waiting) + self._is_slow(key)) for key in keys]

    def _is_slow(self, key: tuple[int, int]) -> bool:
        name, share = (key[1], _SLOW_CREWS) if self._by_crew else (key, _SLOW_GROUPS)
        if name not in self._slow:
            self._slow[name] = self._random.random() < share
        return self._slow[name]


class Crews:
    """The lanes that run ahead together under "independent": at every convergence point the lanes get new crews.

    `rows`: the lanes of a block; `blocks`: how many blocks may get ahead of each other, 0: none; `waits`: whether loops
    poll memory; `asks`: whether lanes ask which others are active, so that warps part at random, and never as a whole.
    All choices come from the seed, so a run can be repeated.
    """

    def __init__(self, schedule: Schedule, rows: int, blocks: int, waits: bool = False, asks: bool = False) -> None:
        self.random = random.Random(schedule.seed)
        self.turns = Turns(self.random) if waits else None
        self.rows, self.blocks, self._asks = rows, blocks, asks
        self._parts: Array | None = None  # the crews of whole blocks or warps, which keep them

    def deal(self) -> list[tuple[Array, Array | None]]:
        """Return disjoint rectangles that cover the lanes, in the order in which they run: bool vectors of rows, and of
        blocks (None: all)."""
        turns = None if self.turns is None or self.turns.over else self.turns
        if turns and (turns.some_stand or self.random.random() < _APART):  # every block apart, or every warp
            count = self.blocks if self.blocks > 1 else self.rows // WARP
            if self._parts is None:
                self._parts = np.array(self.random.sample(range(count), count)) % _MOST_CREWS
            parts, every = self._parts, np.ones(self.rows, bool)
            several = range(min(count, _MOST_CREWS))
            if self.blocks > 1:
                return [(every, parts == part) for part in several]
            return [(np.repeat(parts == part, WARP), None) for part in several]
        if self.blocks > 1 and not self._asks and self.random.random() < 0.5:  # blocks apart
            parts, every = np.array([self.random.randrange(4) for _ in range(self.blocks)]), np.ones(self.rows, bool)
            return [(every, parts == part) for part in range(4) if (parts == part).any()]
        lanes = np.arange(self.rows) % WARP
        match 3 if self._asks else self.random.randrange(4):
            case 0:  # three single lanes first or last
                chosen = np.isin(lanes, self.random.sample(range(WARP), 3))
            case 1:  # the low lanes first or last
                chosen = lanes < self.random.choice((1, 2, 4, 8, 16))
            case 2:  # some warps first or last
                chosen = np.repeat([self.random.random() < 0.5 for _ in range(self.rows // WARP)], WARP)
            case _:  # random lanes first or last
                chosen = np.array([self.random.random() < 0.5 for _ in range(self.rows)])
        crews = [half for half in (chosen, ~chosen) if half.any()]
        self.random.shuffle(crews)
        if self.blocks > 1 and self._asks:
            some = np.array([self.random.random() < 0.5 for _ in range(self.blocks)])
            return [(crew, part) for part in (some, ~some) if part.any() for crew in crews]
        return [(crew, None) for crew in crews]

    def choose(self, keys: list[tuple[int, int]]) -> tuple[int, int]:
        """Return the group that runs next, of groups (block of the program, crew): mostly of the first crew, but of any
        if blocks may get ahead of each other."""
        if self.turns is not None:
            if not self.turns.over:
                return self.turns.choose(keys)
            keys = self.turns.ready(keys)
        crews = sorted({crew for _, crew in keys})
        crew = self.random.choice(crews) if self.blocks > 1 else crews[-1] if self.random.random() < 0.05 else crews[0]
        return min(key for key in keys if key[1] == crew)

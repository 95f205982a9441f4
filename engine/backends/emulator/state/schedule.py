"""The order in which lanes run: a choice, because CUDA leaves it open.

* "lockstep": the lanes of a warp run together and wait for each other where their paths meet, as up to Pascal.
  The group of lanes with the smallest program counter runs first.
* "independent": any lane may run ahead of the others of its warp until they must converge, as since Volta. The last
  blocks run first, the lanes of an atomic take turns in a random order, and volatile stores may arrive late
  (`store_buffer`). Other blocks may run between two atomics of a block (`ptx.program.cut_at_atomics`). `seed`
  determines the order; each seed gives one legal and adversarial execution.
* "waves": lockstep, with `blocks_per_wave` blocks at a time; the next wave starts when the last one has ended.
"""

from __future__ import annotations

import random
from dataclasses import dataclass
from typing import Literal

import numpy as np

from engine.backends.emulator.registers.masks import WARP
from engine.records import SCHEDULES, Array, NotRunnable


@dataclass(frozen=True)
class Schedule:
    """A legal order of execution. `blocks_per_wave` None: as many blocks as fit a chunk."""

    kind: Literal["lockstep", "independent", "waves"] = "lockstep"
    seed: int = 0
    blocks_per_wave: int | None = None


LOCKSTEP = Schedule()


def parse_schedule(text: str | None) -> Schedule:
    """Return the schedule of "lockstep", "independent:SEED" or "waves:BLOCKS"; None is lockstep. NotRunnable for
    others."""
    kind, _, number = (text or "lockstep").partition(":")
    if kind == "lockstep" and not number:
        return LOCKSTEP
    if kind == "independent" and (not number or number.isdecimal()):
        return Schedule("independent", seed=int(number or 0))
    if kind == "waves" and number.isdecimal() and int(number) > 0:
        return Schedule("waves", blocks_per_wave=int(number))
    raise NotRunnable(f"A schedule is {', '.join(SCHEDULES[:-1])} or {SCHEDULES[-1]} (at least 1), not {text!r}.")


def schedule_line(schedule: Schedule) -> str:
    """Return the name of a schedule: "independent lanes, seed 3"."""
    if schedule.kind == "waves":
        count = schedule.blocks_per_wave
        return f"waves of {count:,} block{'s' * (count > 1)}" if count else "waves of blocks"
    return f"independent lanes, seed {schedule.seed}" if schedule.kind == "independent" else "lockstep warps"


class Crews:
    """The lanes that run ahead together under "independent": at every convergence point the lanes get new crews.

    `rows`: the lanes of a block; `blocks`: how many blocks may get ahead of each other, 0: none. All choices come from
    the seed, so a run can be repeated.
    """

    def __init__(self, schedule: Schedule, rows: int, blocks: int) -> None:
        self.random = random.Random(schedule.seed)
        self.rows, self.blocks = rows, blocks

    def deal(self) -> list[tuple[Array, Array | None]]:
        """Return disjoint rectangles that cover the lanes, in the order in which they run: bool vectors of rows, and of
        blocks (None: all)."""
        if self.blocks > 1 and self.random.random() < 0.5:  # blocks apart
            parts, every = np.array([self.random.randrange(4) for _ in range(self.blocks)]), np.ones(self.rows, bool)
            return [(every, parts == part) for part in range(4) if (parts == part).any()]
        lanes = np.arange(self.rows) % WARP
        match self.random.randrange(4):
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
        return [(crew, None) for crew in crews]

    def choose(self, keys: list[tuple[int, int]]) -> tuple[int, int]:
        """Return the group that runs next, of groups (block of the program, crew): mostly of the first crew, but of any
        if blocks may get ahead of each other."""
        crews = sorted({crew for _, crew in keys})
        crew = self.random.choice(crews) if self.blocks > 1 else crews[-1] if self.random.random() < 0.05 else crews[0]
        return min(key for key in keys if key[1] == crew)

"""In which pass of shared memory each lane of a warp is served: what `passes` counts, lane by lane."""

from __future__ import annotations

from collections.abc import Sequence

import numpy as np

from engine.backends.emulator.registers.masks import WARP
from engine.backends.emulator.watching.passes import BANKS, WORD, shared_wavefronts
from engine.records import Array


def served_in(address: Array, active: Array, size: int, op: str) -> tuple[int, ...]:
    """The wavefront, counted from 1, that serves each of the 32 lanes; 0 for an idle lane.

    `address`, `active` of shape (32,), byte addresses aligned to `size`; op "ld", "st" or "atom". The last wavefront
    is the number that `shared_wavefronts` counts. In a bank the units are served in the order of the lanes.
    """
    wanted, _ = shared_wavefronts(address, active, size, op)
    phases = max(1, size // WORD)
    lanes = np.arange(WARP).reshape(phases, -1).tolist()
    units = (np.asarray(address, np.int64) // max(size, WORD)).tolist()
    awake = np.asarray(active, bool).tolist()
    served = _walk(lanes, units, awake, BANKS // phases, op == "atom")
    if max(served) != wanted:  # lanes that ask for the same units let two phases be served as one
        merged = [one + two for one, two in zip(lanes[0::2], lanes[1::2], strict=True)]
        served = _walk(merged, units, awake, BANKS // phases, False)
    return tuple(served)


def _walk(
    phases: Sequence[Sequence[int]], units: Sequence[int], awake: Sequence[bool], row: int, alone: bool
) -> list[int]:
    """Phase after phase; in each, every bank serves one unit a pass. `alone`: no two lanes share a pass of a bank."""
    served = [0] * WARP
    done = 0
    for lanes in phases:
        queues: dict[int, list[int]] = {}
        for lane in lanes:
            if not awake[lane]:
                continue
            queue = queues.setdefault(units[lane] % row, [])
            if alone or units[lane] not in queue:
                queue.append(units[lane])
                served[lane] = done + len(queue)
            else:
                served[lane] = done + 1 + queue.index(units[lane])
        done += max(map(len, queues.values()), default=0)
    return served

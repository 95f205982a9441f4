"""Which flag or lock each lane has set last, and which one it has waited for: for the advice of findings only.

x += 1; atomicExch(&lock, 0);                        // this lane hands x over
while (atomicCAS(&lock, 0, 1)) ;  x += 1;            // to this one: a fence is missing, and no barrier
"""

from __future__ import annotations

import numpy as np

from engine.backends.emulator.ptx.dataflow import branch_registers
from engine.backends.emulator.ptx.program import Program
from engine.backends.emulator.ptx.syntax import Instruction
from engine.backends.emulator.ptx.traits import writes
from engine.backends.emulator.registers.values import plain
from engine.backends.emulator.state.events import Access, ChunkInfo, Site
from engine.records import Array

_WAITING = frozenset(("cas", "exch"))
_STRONG = frozenset(("volatile", "relaxed", "acquire"))


def waits_for_flags(program: Program) -> bool:
    """Return whether a branch of a program depends on a flag or lock."""
    reading = [item for item in program.instructions if _may_wait(item)]
    needed = branch_registers(program) if reading else 0
    return any(needed >> index & 1 for item in reading for index in writes(item, program.carry))


def _may_wait(item: Instruction) -> bool:
    wanted = {"atom": _WAITING, "ld": _STRONG}.get(item.words[0], frozenset())
    return bool(wanted & set(item.words))


class Handovers:
    """The flags of a chunk's lanes; arrays are int64[T, B]."""

    def __init__(self, info: ChunkInfo) -> None:
        shape = info.rows, info.blocks
        self._rows = info.rows
        self._set, self._set_at = np.zeros(shape, np.int64), np.zeros(shape, np.int64)
        self._seen, self._seen_at = np.zeros(shape, np.int64), np.zeros(shape, np.int64)

    def note(self, access: Access, time: int) -> None:
        """Note a flag that lanes set or wait for. Other accesses change nothing."""
        site = access.site
        if _waits(site):
            _put(self._seen, self._seen_at, access, time)
        if site.op != "ld":
            _put(self._set, self._set_at, access, time)

    def passed(self, before: int, since: int, after: int) -> bool:
        """Return whether the lane `before` has set a flag after the time `since`, and `after` has waited for it. Lanes
        count from the chunk's first block."""
        one, two = (before % self._rows, before // self._rows), (after % self._rows, after // self._rows)
        if one[1] != two[1] or not 0 <= one[1] < self._set.shape[1]:
            return False
        same = self._set[one] == self._seen[two]
        return bool(same and since < self._set_at[one] < self._seen_at[two])


def _waits(site: Site) -> bool:
    return site.decides_branch and (site.op == "ld" or bool(_WAITING & site.words))


def _put(words: Array, times: Array, access: Access, time: int) -> None:
    mask, place = access.mask, access.mask.place()
    address = np.broadcast_to(plain(access.address).astype(np.int64), (mask.height, mask.width))
    words[place] = address if mask.dense is None else np.where(mask.dense, address, words[place])
    times[place] = time if mask.dense is None else np.where(mask.dense, time, times[place])

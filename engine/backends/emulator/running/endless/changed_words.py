"""What was written since some moment, and whether memory now differs from what it was then."""

from __future__ import annotations

from typing import TYPE_CHECKING

import numpy as np

from engine.backends.emulator.registers.masks import Mask
from engine.backends.emulator.registers.values import plain
from engine.backends.emulator.running.endless.dependence import Deciding
from engine.backends.emulator.state.events import Access
from engine.backends.emulator.state.memory import RANGE_BITS
from engine.records import Array

if TYPE_CHECKING:
    from engine.backends.emulator.state.machine import Machine

_MOST_WORDS = 1 << 21  # remembered; whoever writes more is taken to change something


class Touched:
    """The words that were written and that decide something, with what they held before."""

    def __init__(self, machine: Machine, deciding: Deciding) -> None:
        self._machine, self._deciding = machine, deciding
        # What is looked at (a space or an array's address), memory as words, places, their old contents.
        self._before: list[tuple[str | int, Array, Array, Array]] = []
        self._count = 0

    def forget(self) -> None:
        """From now on."""
        self._before.clear()
        self._count = 0

    def on_access(self, access: Access) -> None:
        """Before a store or an atomic takes effect."""
        if access.site.op == "ld" or access.space not in self._deciding.spaces or self._count > _MOST_WORDS:
            return
        for name, memory, places in self._words(access):
            self._before.append((name, memory, places, memory[places]))
            self._count += places.size

    def changed(self, deciding: Deciding) -> bool:
        """True when a word differs from what it was, of those that decide."""
        if self._count > _MOST_WORDS:
            return bool(deciding.spaces)
        for name in {name for name, *_ in self._before}:
            if name not in deciding.spaces and name not in deciding.arrays:
                continue
            here = [(memory, places, old) for other, memory, places, old in self._before if other == name]
            places, first = np.unique(np.concatenate([places for _, places, _ in here]), return_index=True)
            old = np.concatenate([old for _, _, old in here])[first]  # what each word held before it was first written
            if (here[0][0][places] != old).any():
                return True
        return False

    def _words(self, access: Access) -> list[tuple[str | int, Array, Array]]:
        """(array or space, memory as words, the words that the access meets)."""
        mask, size, array = access.mask, access.site.size, access.array
        address = plain(access.address).astype(np.int64)
        if array is not None and mask.dense is None:
            met = array.base in self._deciding.arrays
            places = _word_numbers((address - array.base).ravel(), size, 4, 1)
            return [(array.base, array.data.view(np.uint32), places)] if met else []
        shape = (mask.height, mask.width)
        address = np.broadcast_to(address, shape)
        active = np.ones(shape, bool) if mask.dense is None else mask.dense
        made: list[tuple[str | int, Array, Array]] = []
        if access.space == "global":
            numbers = address >> RANGE_BITS
            for number in np.unique(numbers[active]):
                array = self._machine.space.at(int(number) << RANGE_BITS)
                if array is not None and array.base in self._deciding.arrays:
                    at = address[active & (numbers == number)] - array.base
                    made.append((array.base, array.data.view(np.uint32), _word_numbers(at, size, 4, 1)))
            return made
        words = self._machine.words(access.space)
        lanes = words.flat.size // words.words.shape[0]  # the words of all lanes that have one address lie together
        places = _word_numbers(address[active], size, words.unit, lanes)
        return [(access.space, words.flat, places + np.tile(_lane(access, mask)[active], _parts(size, words.unit)))]


def _parts(size: int, unit: int) -> int:
    return max(1, size // unit)


def _word_numbers(at: Array, size: int, unit: int, lanes: int) -> Array:
    """Byte addresses -> numbers of words, all words of each access."""
    first, parts = at // unit, _parts(size, unit)
    return first * lanes if parts == 1 else np.concatenate([(first + number) * lanes for number in range(parts)])


def _lane(access: Access, mask: Mask) -> Array:
    """Where a lane's own word lies among the words of one address: by block, in local memory by thread and block."""
    columns = np.broadcast_to(mask.columns_at()[None, :], (mask.height, mask.width))
    if access.space == "shared":
        return columns
    made: Array = columns + mask.rows_at()[:, None] * mask.columns.size
    return made

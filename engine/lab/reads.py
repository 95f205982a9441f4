"""Which elements of a launch's arrays its threads read: an element that none reads cannot decide an answer."""

from __future__ import annotations

import numpy as np

from engine.backends.emulator.registers.values import plain
from engine.backends.emulator.state.events import Access
from engine.backends.emulator.state.memory import DeviceArray
from engine.backends.emulator.watching.observer import Observer
from engine.records import Array


class Reads(Observer):
    """Notes which bytes of global memory are read."""

    def __init__(self) -> None:
        self._addresses: list[Array] = []

    def on_access(self, access: Access) -> None:
        """Note the bytes of a load or an atomic."""
        own = access.of_takers() if access.space == "global" and access.site.op != "st" else None
        if own is None:
            return
        mask = own.mask
        address = np.broadcast_to(plain(own.address), (mask.height, mask.width)).astype(np.int64)
        first = np.unique(address if mask.dense is None else address[mask.dense])
        self._addresses.append((first[:, None] + np.arange(own.site.size)).ravel())

    def first_unread(self, array: DeviceArray, itemsize: int) -> int | None:
        """Return the first element of an array that no thread has read, None if there is none."""
        read = np.zeros(array.size, bool)
        for address in self._addresses:
            inside = address[(address >= array.base) & (address < array.base + array.size)]
            read[inside - array.base] = True
        left = np.flatnonzero(~read[: array.size // itemsize * itemsize].reshape(-1, itemsize).any(axis=1))
        return int(left[0]) if left.size else None

"""Wrong keys: how many an address may try."""

from __future__ import annotations

import ipaddress
import threading
import time
from collections import OrderedDict, deque
from collections.abc import Callable
from math import ceil

MOST, WITHIN_S = 100, 3600.0  # ASVS 2.2.1: a hundred failed attempts an hour
_ADDRESSES = 10_000


class Guesses:
    """Failed attempts by address. `clock`: seconds."""

    def __init__(self, clock: Callable[[], float] = time.monotonic) -> None:
        self._clock = clock
        self._failed: OrderedDict[str, deque[float]] = OrderedDict()
        self._lock = threading.Lock()

    def wait_s(self, address: str) -> int:
        """Whole seconds until this address may try again; 0: now."""
        with self._lock:
            failed = self._failed.get(_network(address), ())
            return max(0, ceil(failed[0] + WITHIN_S - self._clock())) if len(failed) == MOST else 0

    def failed(self, address: str) -> None:
        """A wrong key came from there."""
        with self._lock:
            network = _network(address)
            self._failed.setdefault(network, deque(maxlen=MOST)).append(self._clock())
            self._failed.move_to_end(network)
            if len(self._failed) > _ADDRESSES:
                self._failed.popitem(last=False)


def _network(address: str) -> str:
    """Whose address it is: of IPv6 a household has at least a /64."""
    try:
        found = ipaddress.ip_address(address)
    except ValueError:
        return address
    return str(ipaddress.ip_network((found, 64), strict=False)) if found.version == 6 else str(found)

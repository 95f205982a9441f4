"""Results of finished runs, by the key of their job: within a bound, the longest unused dropped first."""

from __future__ import annotations

from collections import OrderedDict
from typing import Generic, TypeVar

KEPT_BYTES = 64 << 20

T = TypeVar("T")


class Kept(Generic[T]):
    """Runs by key. Whoever shares it locks it."""

    def __init__(self) -> None:
        self._runs: OrderedDict[str, tuple[T, int]] = OrderedDict()
        self._bytes = 0

    def get(self, key: str) -> T | None:
        """The run, which counts as used."""
        if key not in self._runs:
            return None
        self._runs.move_to_end(key)
        return self._runs[key][0]

    def put(self, key: str, run: T, bytes: int) -> None:
        """Keep `run`, whose result has so many bytes, in the place of an earlier one; not if it is very large."""
        if bytes > KEPT_BYTES // 8:
            return
        if key in self._runs:
            self._bytes -= self._runs.pop(key)[1]
        self._runs[key] = run, bytes
        self._bytes += bytes
        while self._bytes > KEPT_BYTES:
            self._bytes -= self._runs.popitem(last=False)[1][1]

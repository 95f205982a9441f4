"""Jobs that a page waits for together, under a name each."""

from __future__ import annotations

import threading
import time
from typing import ClassVar

from engine.service import service


class PageJobs:
    """Jobs of one browser, taken in as they end, with `views.session.work.PageWork`'s way of being waited for.

    A page's own kind says what becomes of a job that ended: `_take`. `words`: what the bar says of each.
    """

    words: ClassVar[dict[str, str]] = {}

    def __init__(self) -> None:
        self._handles: dict[str, service.Handle] = {}
        self._begun = 0
        self._stopped = False
        self._lock = threading.Lock()

    def _add(self, name: str, handle: service.Handle) -> None:
        self._handles[name] = handle
        self._begun += 1

    def _take(self, name: str, handle: service.Handle) -> None:
        """What a job that ended has given; with the lock held, so that nobody else takes it."""
        raise NotImplementedError

    @property
    def finished(self) -> bool:
        """Whether everything has come in, or the work was stopped."""
        return self._stopped or not self._handles

    @property
    def stopped(self) -> bool:
        """Whether somebody gave it up."""
        return self._stopped

    @property
    def progress(self) -> tuple[float, str]:
        """(fraction of the whole, what is being done)."""
        left = list(self._handles.items())
        if not left:
            return 1.0, "Done"
        name, handle = left[0]
        fraction, text = handle.progress
        done = self._begun - len(left) + min(max(fraction, 0.0), 1.0)
        return done / self._begun, f"{self.words[name]}. {text}"

    def advance(self, patience_s: float) -> bool:
        """Wait up to `patience_s` for what is running; True if something came in."""
        until = time.monotonic() + patience_s
        came = False
        while True:
            with self._lock:
                name = next(iter(self._handles), None)
                if name is None or self._stopped:
                    return came
                handle = self._handles[name]
            if not handle.done.wait(max(0.0, until - time.monotonic())):
                return came
            with self._lock:
                if self._handles.pop(name, None) is not None and not self._stopped:
                    self._take(name, handle)
                    came = True

    def stop(self) -> None:
        """Give up what is left."""
        with self._lock:
            self._stopped = True
            for handle in self._handles.values():
                handle.cancel()

"""Jobs that a page waits for together, under a name each."""

from __future__ import annotations

import threading
import time
from collections.abc import Callable
from typing import ClassVar

from engine.service import service
from views.session.awaited_run import AwaitedRun


class PageJobs:
    """Jobs of one browser, taken in as they end, with `views.session.work.PageWork`'s way of being waited for.

    A page's own kind says what becomes of a job that ended: `_take`. `words`: what the bar says of each.
    """

    words: ClassVar[dict[str, str]] = {}

    def __init__(self, session: str) -> None:
        self._session = session
        self._runs: dict[str, AwaitedRun] = {}
        self._begun = 0
        self._stopped = False
        self._lock = threading.Lock()

    def _add(self, name: str, submit: Callable[[], service.Handle]) -> None:
        """Submit a job. NotRunnable."""
        self._runs[name] = AwaitedRun(self._session, submit)
        self._begun += 1

    def _take(self, name: str, handle: service.Handle) -> None:
        """What a job that ended has given; with the lock held, so that nobody else takes it."""
        raise NotImplementedError

    @property
    def finished(self) -> bool:
        """Whether everything has come in, or the work was stopped."""
        with self._lock:  # a job that has ended may be followed by another one
            return self._stopped or not self._runs

    @property
    def stopped(self) -> bool:
        """Whether somebody gave it up."""
        return self._stopped

    @property
    def progress(self) -> tuple[float, str]:
        """(fraction of the whole, what is being done)."""
        left = list(self._runs.items())
        if not left:
            return 1.0, "Done"
        name, run = left[0]
        fraction, text = run.progress
        done = self._begun - len(left) + min(max(fraction, 0.0), 1.0)
        return done / self._begun, f"{self.words[name]}. {text}"

    def advance(self, patience_s: float) -> bool:
        """Wait up to `patience_s` for what is running; True if something came in."""
        until = time.monotonic() + patience_s
        came = False
        while True:
            with self._lock:
                name = next(iter(self._runs), None)
                if name is None or self._stopped:
                    return came
                run = self._runs[name]
            if not run.wait(max(0.0, until - time.monotonic())):
                return came
            with self._lock:
                if self._runs.get(name) is run and not self._stopped:  # else somebody else has taken it in
                    del self._runs[name]
                    self._take(name, run.handle)
                    came = True

    def stop(self) -> None:
        """Give up what is left."""
        with self._lock:
            self._stopped = True
            for run in self._runs.values():
                run.cancel()

"""A run that a page waits for, for as long as the page wants it."""

from __future__ import annotations

import threading
from collections.abc import Callable

from engine.records import NotRunnable
from engine.service import service
from views.session import presence

TOLD_S = 1.0  # a shorter wait is no news


class AwaitedRun:
    """A run of one browser. What the queue gave up for the browser's sake, because a newer click of its came first or
    its connection was lost, is submitted again when the browser is there and the page asks for it again."""

    def __init__(self, session: str, submit: Callable[[], service.Handle]) -> None:
        """Submit it, for a browser's `session`. NotRunnable."""
        self._session, self._submit = session, submit
        self._lock = threading.Lock()
        self._wanted = True
        self.handle = submit()

    @property
    def progress(self) -> tuple[float, str]:
        """(fraction 0..1, what is being done); while it waits, how many runs are ahead and for about how long."""
        fraction, text = self.handle.progress
        wait = self.handle.expected_wait_s()
        return fraction, f"{text}, about {wait:.0f} s" if wait and wait >= TOLD_S else text

    @property
    def unfinished(self) -> bool:
        """Whether it still runs or waits, or is to be submitted again."""
        return not self.handle.done.is_set() or (self.handle.cancelled and self._wanted)

    def wait(self, patience_s: float) -> bool:
        """Wait up to `patience_s`; whether it has ended."""
        handle = self.handle
        if not handle.done.wait(patience_s):
            return False
        with self._lock:
            if not handle.cancelled or not self._wanted:
                return True
            # Else this run of the script is ending, or another one has submitted it again.
            if presence.is_here(self._session) and self.handle is handle:
                try:
                    self.handle = self._submit()
                except NotRunnable as refused:
                    # Its turn may come; where the server ends, that it was cancelled is all there is.
                    return not (isinstance(refused, service.Rejected) and refused.again_s)
        return False

    def cancel(self) -> None:
        """Give it up for good."""
        with self._lock:
            self._wanted = False
            self.handle.cancel()

"""Limits on the runs of a browser, and how much of them each browser has used in the last minute."""

from __future__ import annotations

import threading
import time
from collections.abc import Callable
from dataclasses import dataclass
from math import ceil

from engine.service.job import Job, Rejected
from engine.service.journal import JobEnd

MINUTE_S = 60.0


@dataclass(frozen=True)
class Limits:
    """Limits of one browser; None: no limit.

    `role`: its user, as "a student". `runs`, `worker_s`: runs and seconds of workers' time in a minute. `n`, `memory`:
    problem size and bytes of the arrays of one run.
    """

    role: str
    runs: int | None = None
    worker_s: int | None = None
    n: int | None = None
    memory: int | None = None

    @property
    def said(self) -> str:
        """Return the limits in a sentence; "" if there are none."""
        parts = (
            (self.runs, f"{self.runs} runs a minute"),
            (self.worker_s, f"{self.worker_s} s of a worker's time a minute"),
            (self.n, f"N = {self.n:,}" if self.n else ""),
            (self.memory, f"{_gib(self.memory or 0)} of arrays in a run"),
        )
        words = ", ".join(text for limit, text in parts if limit is not None)
        return f"Your browser may use up to {words}." if words else ""


class _Budget:
    """A budget that refills within a minute and may be overdrawn. `full`: its size; None: unlimited."""

    def __init__(self, full: float | None) -> None:
        self._full, self._spent, self._then = full, 0.0, 0.0

    def spend(self, amount: float, now: float) -> None:
        """Spend `amount` at the time `now`, in seconds."""
        self._spent, self._then = self.spent(now) + amount, now

    def spent(self, now: float) -> float:
        """Return the amount not refilled yet; more than `full` after a long run."""
        return max(0.0, self._spent - (now - self._then) * self._full / MINUTE_S) if self._full else 0.0

    def wait_s(self, least: float, now: float) -> float:
        """Return the seconds until `least` is available."""
        return max(0.0, (least + self.spent(now) - self._full) * MINUTE_S / self._full) if self._full else 0.0


class _Browser:
    def __init__(self, limits: Limits) -> None:
        self.limits = limits
        self.runs, self.worker_s = _Budget(limits.runs), _Budget(limits.worker_s)

    def refilled(self, now: float) -> bool:
        """Return whether both budgets are full."""
        return not self.runs.spent(now) and not self.worker_s.spent(now)


class Allowances:
    """The browsers' budgets. A session that was never enrolled has no limits: the command line, a notebook. Any thread
    may call any method. `clock`: returns seconds."""

    def __init__(self, clock: Callable[[], float] = time.monotonic) -> None:
        self._clock = clock
        self._lock = threading.Lock()
        self._browsers: dict[str, _Browser] = {}
        self._of_session: dict[str, str] = {}

    def enrol(self, session: str, browser: str, limits: Limits) -> None:
        """Count the runs of a session as this browser's, which has these limits."""
        with self._lock:
            self._of_session[session] = browser
            known = self._browsers.get(browser)
            if known is None or known.limits != limits:
                self._forget_absent()
                self._browsers[browser] = _Browser(limits)

    def leave(self, session: str) -> None:
        """End a session. Its browser's budget stays: the browser may come back in another tab."""
        with self._lock:
            self._of_session.pop(session, None)

    def admit(self, session: str, job: Job) -> None:
        """Count a run that is about to be queued. Rejected, with the limit and the time until it is free again."""
        with self._lock:
            known = self._known(session)
            if known is None:
                return
            limits, now = known.limits, self._clock()
            if limits.n is not None and job.n > limits.n:
                raise Rejected(f"N = {job.n:,} is too large: {limits.role} may run up to {limits.n:,} here.")
            if limits.memory is not None and job.memory > limits.memory:
                raise Rejected(
                    f"The arrays take {_gib(job.memory)}; {limits.role} may use {_gib(limits.memory)} in a run. "
                    "Choose a smaller N."
                )
            if wait_s := known.worker_s.wait_s(0.0, now):
                raise Rejected(
                    f"Your runs have used the {limits.worker_s} s of a worker's time a minute that {limits.role} may "
                    f"use: the next can start in {_seconds(wait_s)}.",
                    wait_s,
                )
            if wait_s := known.runs.wait_s(1.0, now):
                raise Rejected(
                    f"You have started as many runs as {limits.role} may, {limits.runs} a minute: the next can start "
                    f"in {_seconds(wait_s)}.",
                    wait_s,
                )
            known.runs.spend(1.0, now)

    def ended(self, end: JobEnd) -> None:
        """Count the duration of a run that ended; give back a run that no worker took."""
        with self._lock:
            known, now = self._known(end.session), self._clock()
            if known is not None and end.ran_s is None:
                known.runs.spend(-min(1.0, known.runs.spent(now)), now)
            elif known is not None:
                known.worker_s.spend(end.ran_s or 0.0, now)

    def _known(self, session: str) -> _Browser | None:
        return self._browsers.get(self._of_session.get(session, ""))

    def _forget_absent(self) -> None:
        """Forget browsers without a session once their budgets are full."""
        here, now = set(self._of_session.values()), self._clock()
        for name in self._browsers.keys() - here:
            if self._browsers[name].refilled(now):
                del self._browsers[name]


def _seconds(wait_s: float) -> str:
    return f"{ceil(wait_s)} s"


def _gib(count: int) -> str:
    return f"{count / 2**30:.1f} GiB"

"""Where one job runs at a time, here or on another host, and how it ends there."""

from __future__ import annotations

import pickle
from collections.abc import Callable
from dataclasses import dataclass
from typing import Any, Protocol

from engine.records import Progress
from engine.service.failures import JobFailed


@dataclass(frozen=True)
class Outcome:
    """How a job ended: `pickled` is its value, or the exception it ended with. Every reader gets a copy of its own.

    `lost`: the slot went away with its host while the job ran, and takes no other one.
    """

    ok: bool
    pickled: bytes
    lost: bool = False

    @staticmethod
    def failure(error: Exception) -> Outcome:
        """The outcome of a job that ended with `error`."""
        return Outcome(False, pickle.dumps(error))

    def value(self) -> Any:
        """The job's value; or raises the exception that it ended with."""
        try:
            found = pickle.loads(self.pickled)
        except Exception as error:
            raise JobFailed(type(error).__name__, f"the result cannot be read here: {error}", "") from error
        if self.ok:
            return found
        raise found


@dataclass(frozen=True)
class Asker:
    """Whose run it is, for a host that has a queue of its own: the session; whether it goes first; and what tells how
    long it will take, as a Job has it."""

    session: str = ""
    urgent: bool = False
    kind: str = ""
    operations: int = 0


NOBODY = Asker()


class Slot(Protocol):
    """What a queue asks of where its jobs run.

    `device`: "gpu" or "emulator", whose jobs it takes. `name`: of a GPU, its model. `host`: the computer's name.
    `most_s`: it takes no run that must last longer by what is known, in seconds, and gives one away that does where
    others wait; inf: any.
    `start`, `run` and `close` belong to one long-lived thread; `interrupt` may be called from any.
    """

    device: str
    name: str
    host: str
    most_s: float

    def start(self) -> None:
        """Make ready for a job. Returns at once."""

    def run(
        self, job: bytes, deadline_s: float, progress: Progress, cancelled: Callable[[], bool], asker: Asker
    ) -> Outcome:
        """Run one pickled (function, arguments, keywords). Returns when it ended, was killed or was `cancelled()`."""

    def interrupt(self) -> None:
        """Make `run` look at `cancelled()` now."""

    def close(self) -> None:
        """Take no more jobs."""

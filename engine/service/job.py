"""A job for a worker, and the ways in which it can end."""

from __future__ import annotations

import pickle
import signal
from dataclasses import dataclass
from typing import Any

from engine.records import NotRunnable

CHECKING = "engine.lab.checking"  # its functions check students' texts; the service calls them by name only


@dataclass(frozen=True)
class Job:
    """One call in a worker process: function(*args, **dict(keywords)).

    `function`: "package.module:function", by name because it crosses a process boundary: the server must not import
    what only workers need, such as CuPy. A function with a parameter `progress` receives progress(fraction, text).
    `deadline`: seconds from the moment when a worker takes the job. `key`: jobs of equal key share one run, and its
    result is cached; None: neither. `device`: "gpu" or "emulator"; None: the device of the queue's first slot.
    `n`, `memory`: problem size and bytes of the arrays, for limits; 0 if unknown. `model`: GPU model as NVIDIA names
    it; None: the model that the queue has most of.
    """

    function: str
    args: tuple[Any, ...] = ()
    deadline: float = 10.0
    key: str | None = None
    keywords: tuple[tuple[str, Any], ...] = ()
    device: str | None = None
    n: int = 0
    memory: int = 0
    model: str | None = None


@dataclass(frozen=True)
class Outcome:
    """How a job ended. `pickled`: its value, or the exception that ended it; every reader gets its own copy.

    `lost`: the slot's host went away while the job ran, and the slot takes no more jobs.
    """

    ok: bool
    pickled: bytes
    lost: bool = False

    @staticmethod
    def failure(error: Exception) -> Outcome:
        """Return the outcome of a job that ended with `error`."""
        return Outcome(False, pickle.dumps(error))

    def value(self) -> Any:
        """Return the job's value, or raise the exception that ended the job."""
        try:
            found = pickle.loads(self.pickled)
        except Exception as error:
            raise JobFailed(type(error).__name__, f"the result cannot be read here: {error}", "") from error
        if self.ok:
            return found
        raise found


class JobFailed(Exception):
    """The job raised an exception that is not one of the engine's. `type`, `text`: its name and message."""

    def __init__(self, type: str, text: str, traceback: str) -> None:
        super().__init__(type, text, traceback)
        self.type, self.text, self.traceback = type, text, traceback

    def __str__(self) -> str:
        first = self.text.strip().partition("\n")[0].rstrip(".")
        return f"The run failed inside the engine: {self.type}{f': {first}' if first else ''}."


class JobTimeout(Exception):
    """The job passed its deadline, in seconds, and was killed."""

    def __init__(self, deadline_s: float) -> None:
        super().__init__(deadline_s)
        self.deadline_s = deadline_s

    def __str__(self) -> str:
        return (
            f"The run was stopped after {self.deadline_s:g} s: it needs more time, or never ends. "
            "A smaller N shows which."
        )


class WorkerDied(Exception):
    """The worker process ended during the job. `exit_code` as in subprocess: -11 is signal 11."""

    def __init__(self, exit_code: int | None) -> None:
        super().__init__(exit_code)
        self.exit_code = exit_code

    def __str__(self) -> str:
        how = f"exit code {self.exit_code}"
        if self.exit_code is not None and self.exit_code < 0:
            try:
                how = signal.Signals(-self.exit_code).name
            except ValueError:
                how = f"signal {-self.exit_code}"
        return f"The run crashed its process ({how}). No other run was affected, and the next one gets a new process."


class HostLost(Exception):
    """The host that ran the job went away, and so did the second host that ran it."""

    def __str__(self) -> str:
        return "Two computers were lost while they ran this: the run itself may be the cause."


class Cancelled(Exception):
    """The caller, or a newer run of the same session, cancelled the job."""

    def __str__(self) -> str:
        return "The run was cancelled."


class Rejected(NotRunnable):
    """The queue refused the job: the queue or the session's share is full, or the queue is closed.

    `again_s`: seconds until the queue would accept it; None if unknown.
    """

    def __init__(self, text: str, again_s: float | None = None) -> None:
        super().__init__(text)
        self.again_s = again_s

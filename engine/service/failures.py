"""How a job can end without a value. `str(error)` is one sentence that a student understands."""

from __future__ import annotations

import signal

from engine.records import NotRunnable


class JobFailed(Exception):
    """The job raised an exception that is none of the engine's own: its type's name, its text, the traceback's text."""

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
            f"The run was stopped after {self.deadline_s:g} s: it may need longer than that, or never end; "
            "a smaller N tells."
        )


class WorkerDied(Exception):
    """The worker process ended in the middle of the job. `exit_code` as subprocess has it: -11 is signal 11."""

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
        return f"The run crashed its process ({how}); nobody else was harmed, and the next run gets a fresh one."


class HostLost(Exception):
    """The computer that ran the job went away, and so did the next one, where it was run again."""

    def __str__(self) -> str:
        return "The computer that ran it was lost, twice: the run may be what brings it down."


class Cancelled(Exception):
    """The caller, or a newer run of the same session, gave the job up."""

    def __str__(self) -> str:
        return "The run was cancelled."


class Rejected(NotRunnable):
    """The queue does not take the job: it, or the session's share of it, is full, or it is closed.

    `again_s`: seconds after which it would, where that is known.
    """

    def __init__(self, text: str, again_s: float | None = None) -> None:
        super().__init__(text)
        self.again_s = again_s

"""A check of a draft, made by a worker of the emulator: submit_rung, submit_own; and its time on a GPU: submit_time."""

from __future__ import annotations

import hashlib
from dataclasses import replace

from engine.backends.measure import DEADLINES_S
from engine.lab.setups import Setup
from engine.records import Settled
from engine.service import service
from engine.service.handle import Handle
from engine.service.job import Job


def submit_rung(choice: Settled, session: str) -> Handle:
    """Check a rung's draft, the source of `choice`; the handle's result is a Checked. Equal requests share one run."""
    emulated = replace(choice, device="emulator")
    return _submit(
        "engine.lab.checking:check_rung", (emulated,), session, choice.n, choice.kernel, service.memory_of(emulated)
    )


def submit_own(setup: Setup, n: int, text: str, file_name: str, schedule: str | None, session: str) -> Handle:
    """Check a launch of one's own; the handle's result is a Checked."""
    arguments = (setup, n, text, file_name, schedule)
    return _submit("engine.lab.checking:check_own", arguments, session, n, setup.kernel)


def submit_time(setup: Setup, n: int, text: str, file_name: str, session: str) -> Handle:
    """Run and time a launch of one's own on a GPU, anew; the handle's result is a Measurement. It may raise."""
    job = Job(
        "engine.lab.checking:time_own", (setup, n, text, file_name), deadline=DEADLINES_S["gpu"], device="gpu", n=n
    )
    return service.connect().submit(job, session)


def _submit(function: str, arguments: tuple[object, ...], session: str, n: int, kind: str, memory: int = 0) -> Handle:
    same = hashlib.sha256(repr((function, arguments)).encode()).hexdigest()
    job = Job(function, arguments, deadline=DEADLINES_S["emulator"], key=same, device="emulator", n=n, memory=memory,
              kind=kind)  # fmt: skip
    return service.connect().submit(job, session)

"""A trace of one block, or its picture, made by a worker: submit_trace, submit_picture."""

from __future__ import annotations

import hashlib
from dataclasses import replace

from engine.catalogue import kernel_named
from engine.records import Settled
from engine.service import service
from engine.service.handle import Handle
from engine.service.job import Job

TRACE_DEADLINE_S = 60.0


def submit_trace(
    choice: Settled, block: int, session: str, *, launch: int = 1, fresh: bool = False, urgent: bool = False
) -> Handle:
    """`trace` on a worker; the handle's result is a Trace. Equal requests share one run."""
    return _submit("engine.picture.tracing:trace", choice, block, session, launch, fresh, urgent)


def submit_picture(
    choice: Settled, block: int, session: str, *, launch: int = 1, fresh: bool = False, urgent: bool = False
) -> Handle:
    """`packed` on a worker; the handle's result is a Packed. Equal requests share one run."""
    return _submit("engine.picture.picture:packed", choice, block, session, launch, fresh, urgent)


def _submit(function: str, choice: Settled, block: int, session: str, launch: int, fresh: bool, urgent: bool) -> Handle:
    settled = replace(choice, device="emulator")
    same = repr((function, kernel_named(choice.kernel).text, settled, block, launch))
    job = Job(
        function,
        (settled, block),
        deadline=TRACE_DEADLINE_S,
        key=hashlib.sha256(same.encode()).hexdigest(),
        keywords=(("launch", launch),),
        device="emulator",
        n=settled.n,
        memory=service.memory_of(settled),
        kind=settled.kernel,  # and no operations: of all blocks it runs a few
    )
    return service.connect().submit(job, session, fresh=fresh, urgent=urgent)

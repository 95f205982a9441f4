"""A trace of one block, made by a worker. submit_trace(choice, block, session) -> Handle"""

from __future__ import annotations

import hashlib
from dataclasses import replace

from engine.catalogue import kernel_named
from engine.records import Settled
from engine.service import service
from engine.service.queue import Handle, Job

TRACE_DEADLINE_S = 60.0


def submit_trace(choice: Settled, block: int, session: str, *, launch: int = 1, fresh: bool = False) -> Handle:
    """`trace` on a worker; the handle's result is a Trace. Equal requests share one run."""
    settled = replace(choice, device="emulator")
    same = repr(("trace", kernel_named(choice.kernel).text, settled, block, launch))
    job = Job(
        "engine.measuring.tracing:trace",
        (settled, block),
        deadline=TRACE_DEADLINE_S,
        key=hashlib.sha256(same.encode()).hexdigest(),
        keywords=(("launch", launch),),
        device="emulator",
    )
    return service.connect().submit(job, session, fresh=fresh)

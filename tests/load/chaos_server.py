"""The dashboard with one more door, behind which the queue can be given any job: `tests.load.chaos` starts it.

POST /job with {"kernel": ..., "n": ..., "block_size": ...}, a run that is measured and kept as a page's is, and leaves
a line in the file `trace` of the server's home each time that a worker begins it; or with {"function": "module:name",
"arguments": [...], "deadline": ...}. The answer is {"status": ..., "reason": ...}.
"""

from __future__ import annotations

import asyncio
import uuid
from typing import Any

import streamlit as st
from starlette.requests import Request
from starlette.responses import JSONResponse, Response
from starlette.routing import Route

from engine.backends.measure import DEADLINES_S
from engine.history import history
from engine.plan import settle
from engine.records import Choice, NotRunnable
from engine.service import service
from engine.store import database
from tests.browser.conftest import ROOT
from tests.load import faults
from tests.load.traced import TRACE
from views.server import server
from views.server.endpoints import ROUTES


async def job(request: Request) -> Response:
    """Do what is asked, and say how it ended."""
    status, reason = await asyncio.to_thread(_done, await request.json())
    return JSONResponse({"status": status, "reason": reason})


def _done(asked: dict[str, Any]) -> tuple[str, str]:
    session = uuid.uuid4().hex
    if "kernel" in asked:
        choice = settle(Choice(**asked))
        trace = str(database.folder().parent / TRACE)
        one = service.Job(
            "tests.load.traced:measure", (choice, trace), DEADLINES_S[choice.device], device=choice.device
        )
        measurement = service.measurement_of(service.connect().submit(one, session), choice)
        history.remember(choice, measurement)
        return measurement.status, measurement.reason or ""
    one = service.Job(asked["function"], tuple(asked["arguments"]), deadline=asked["deadline"])
    try:
        service.connect().submit(one, session).result()
    except (NotRunnable, service.JobFailed, service.JobTimeout, service.WorkerDied, service.Cancelled) as error:
        return type(error).__name__, str(error)
    return "ok", ""


faults.plant()
app = st.App(
    ROOT / "dashboard.py",
    routes=[*ROUTES, Route("/job", job, methods=["POST"])],
    lifespan=server.serving(lambda: None),
)

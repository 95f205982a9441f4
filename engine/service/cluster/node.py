"""The program by which a host serves a cluster: its own job queue and workers, behind one Dask worker.

    python -m engine host tls://10.0.0.1:8786

Dask delivers the jobs and knows whether the host is alive; order, deadlines and crashes are handled by the host's own
queue, as in a dashboard of one computer. When the scheduler goes, the host looks for it until it is back.
"""

from __future__ import annotations

import asyncio
import os
import pickle
import signal
import socket
import sys
import tempfile
import threading
from collections import Counter
from contextlib import suppress
from dataclasses import astuple
from typing import Any

import dask
from distributed import Worker, WorkerPlugin
from distributed.worker import DEFAULT_STARTUP_INFORMATION

from engine.compile.confinement import check_confinement
from engine.machine.devices import HostGpu, gpus
from engine.machine.environment import ENGINE, KERNELS, program_version
from engine.service.cluster import NAME, SETTINGS, check_address, check_certificate
from engine.service.job import Cancelled, Job, Outcome
from engine.service.queue import Handle, JobQueue
from engine.service.slots import slots_for

POLL_S = 0.1  # between two reports of a job's progress
RETRY_S = 1.0  # before a lost scheduler is connected to again
THREADS = 8  # for each slot; they only wait, as several dashboards share the slots


class Jobs(WorkerPlugin):
    """The queue behind a Dask worker. Jobs that still run when the worker closes are stopped."""

    name = NAME

    def __init__(self, queue: JobQueue) -> None:
        self._queue = queue
        self._sessions: Counter[str] = Counter()  # of all dashboards, with the number of their jobs here
        self._lock = threading.Lock()

    def setup(self, worker: Worker) -> None:
        """Store the worker; called by Dask."""
        self._worker = worker

    def run(
        self, run: str, job: bytes, deadline_s: float, device: str, model: str | None, session: str, urgent: bool
    ) -> tuple[bool, bytes]:
        """Run a pickled (function, arguments, keywords), report its progress, and stop it when Dask cancels the task.

        Called by the task named `run`, in one of Dask's threads. All dashboards share one queue, which is fair to their
        sessions. Returns the fields of the Outcome.
        """
        function, arguments, keywords = pickle.loads(job)
        submitted = Job(function, arguments, deadline_s, keywords=tuple(keywords.items()), device=device, model=model)
        with self._lock:
            self._sessions[session] += 1
        try:
            return self._wait(run, self._queue.submit(submitted, session, urgent=urgent))
        finally:
            with self._lock:
                self._sessions[session] -= 1
                self._sessions += Counter()  # drops sessions without jobs

    def _wait(self, run: str, handle: Handle) -> tuple[bool, bytes]:
        reported = None
        while not handle.done.wait(POLL_S):
            task = self._worker.state.tasks.get(run)
            if task is None or task.state != "executing":
                handle.cancel()
            elif (progress := handle.progress) != reported:
                reported = progress
                self._worker.log_event(NAME, [run, *progress])
        outcome = None if handle.cancelled else handle.run.outcome
        ended = outcome or Outcome.failure(Cancelled())
        return ended.ok, ended.pickled

    def teardown(self, worker: Worker) -> None:
        """Cancel all jobs; called by Dask before the worker closes."""
        with self._lock:
            sessions = list(self._sessions)
        for session in sessions:
            self._queue.leave(session)


def run_node(scheduler: str, name: str | None, port: int) -> None:
    """Serve the scheduler's cluster until Ctrl-C or SIGTERM. `name`: of this host, for users; `port`: on which it
    listens to the scheduler; 0: any."""
    check_address(scheduler)
    check_confinement(os.environ)
    check_certificate(scheduler, "worker")
    dask.config.update_defaults(SETTINGS)
    found = gpus()
    queue = JobQueue(slots_for(found))
    queue.warm()
    try:
        asyncio.run(_serve(scheduler, port, queue, _offer(name or socket.gethostname(), queue, found)))
    finally:
        queue.close()


async def _serve(scheduler: str, port: int, queue: JobQueue, offer: dict[str, Any]) -> None:
    serving = asyncio.current_task()
    assert serving is not None
    for ending in (signal.SIGINT, signal.SIGTERM):
        asyncio.get_running_loop().add_signal_handler(ending, serving.cancel)
    with tempfile.TemporaryDirectory(prefix=f"{NAME}-") as folder, suppress(asyncio.CancelledError):
        while True:
            print(f"{offer['host']} looks for the scheduler at {scheduler}.", flush=True)
            try:
                async with Worker(
                    scheduler,
                    port=port,
                    nthreads=THREADS * len(queue.slots),
                    memory_limit=0,
                    local_directory=folder,
                    dashboard_address="127.0.0.1:0",
                    plugins=(Jobs(queue),),
                    startup_information={**DEFAULT_STARTUP_INFORMATION, NAME: lambda worker: offer},
                ) as worker:
                    print(f"{offer['host']} serves {scheduler} from {worker.address}.", flush=True)
                    await worker.finished()
            except Exception as error:  # of Dask, ssl or the system; it may be fixed on the other side
                print(f"{offer['host']} cannot serve {scheduler}: {error}", file=sys.stderr, flush=True)
            await asyncio.sleep(RETRY_S)


def _offer(name: str, queue: JobQueue, found: tuple[HostGpu, ...]) -> dict[str, Any]:
    """Return the description of this host for the dashboards, in types that msgpack can send."""
    return {
        "version": program_version(ENGINE, KERNELS),
        "host": name,
        "slots": [[slot.device, slot.name] for slot in queue.slots],
        "gpus": [list(astuple(gpu)) for gpu in found],
    }

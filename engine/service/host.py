"""The program that lets this computer serve a cluster: its own job queue and workers, behind one Dask worker.

    python -m engine host tls://10.0.0.1:8786

Dask brings the jobs and tells whether this computer is still there; who runs, for how long, and what a crash costs is
the queue's, as in a dashboard of one computer. A scheduler that goes is waited for.
"""

from __future__ import annotations

import asyncio
import ipaddress
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

from engine.machine.devices import HostGpu, gpus
from engine.machine.environment import ENGINE, KERNELS, program_version
from engine.records import NotRunnable
from engine.service.failures import Cancelled
from engine.service.handle import Handle
from engine.service.job import Job
from engine.service.queue import JobQueue
from engine.service.slot import Outcome
from engine.service.slots import slots_for

NAME = "kernel-ladder"  # of the worker's plugin, of what it tells of itself, and of the topic of its jobs' progress
LOOK_S = 0.1  # how often a job's progress is told, and whether it is still wanted
AGAIN_S = 1.0  # before a scheduler that went is looked for again
THREADS = 8  # a slot: they only wait, for slots that several dashboards share
# In the place of Dask's own defaults; what a configuration says counts.
SETTINGS = {"distributed": {"comm": {"timeouts": {"connect": "5s", "tcp": "12s"}}, "diagnostics": {"nvml": False},
                            "worker": {"profile": {"enabled": False}}}}  # fmt: skip


class Jobs(WorkerPlugin):
    """The queue behind a Dask worker. What still runs when that one closes has nobody left to tell, and is stopped."""

    name = NAME

    def __init__(self, queue: JobQueue) -> None:
        self._queue = queue
        self._sessions: Counter[str] = Counter()  # of all dashboards, with what they run here
        self._lock = threading.Lock()

    def setup(self, worker: Worker) -> None:
        """Dask's call when the worker is there."""
        self._worker = worker

    def run(
        self,
        run: str,
        job: bytes,
        deadline_s: float,
        device: str,
        model: str | None,
        session: str,
        urgent: bool,
        kind: str,
        operations: int,
    ) -> tuple[bool, bytes]:
        """Run a pickled (function, arguments, keywords), tell its progress, and stop it when Dask no longer wants it.

        Called by the task of the name `run`, in a thread of Dask's. Runs of all dashboards wait in one queue, which is
        fair between their sessions. Returns what makes its Outcome.
        """
        function, arguments, keywords = pickle.loads(job)
        asked = Job(function, arguments, deadline_s, keywords=tuple(keywords.items()), device=device, model=model,
                    kind=kind, operations=operations)  # fmt: skip
        with self._lock:
            self._sessions[session] += 1
        try:
            return self._ended(run, self._queue.submit(asked, session, urgent=urgent))
        finally:
            with self._lock:
                self._sessions[session] -= 1
                self._sessions += Counter()  # forget those that have nothing here any more

    def _ended(self, run: str, handle: Handle) -> tuple[bool, bytes]:
        told = None
        while not handle.done.wait(LOOK_S):
            task = self._worker.state.tasks.get(run)
            if task is None or task.state != "executing":
                handle.cancel()
            elif (progress := handle.progress) != told:
                told = progress
                self._worker.log_event(NAME, [run, *progress])
        outcome = None if handle.cancelled else handle.run.outcome
        ended = outcome or Outcome.failure(Cancelled())
        return ended.ok, ended.pickled

    def teardown(self, worker: Worker) -> None:
        """Dask's call before the worker closes."""
        with self._lock:
            sessions = list(self._sessions)
        for session in sessions:
            self._queue.leave(session)


def run_host(scheduler: str, name: str | None, port: int) -> None:
    """Serve the cluster of this scheduler until Ctrl-C or SIGTERM; `name`: what users call this computer. `port`: where
    it listens to the scheduler; 0: at any."""
    check_address(scheduler)
    dask.config.update_defaults(SETTINGS)
    found = gpus()
    queue = JobQueue(slots_for(found))
    queue.warm()
    try:
        asyncio.run(_serve(scheduler, port, queue, _offer(name or socket.gethostname(), queue, found)))
    finally:
        queue.close()


async def _serve(scheduler: str, port: int, queue: JobQueue, offer: dict[str, Any]) -> None:
    asking = asyncio.current_task()
    assert asking is not None
    for ending in (signal.SIGINT, signal.SIGTERM):
        asyncio.get_running_loop().add_signal_handler(ending, asking.cancel)
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
            except Exception as error:  # of Dask's, ssl's or the system's kind; it may be mended elsewhere
                print(f"{offer['host']} cannot serve {scheduler}: {error}", file=sys.stderr, flush=True)
            await asyncio.sleep(AGAIN_S)


def _offer(name: str, queue: JobQueue, found: tuple[HostGpu, ...]) -> dict[str, Any]:
    """What a dashboard must know of this host, in what msgpack carries."""
    return {
        "version": program_version(ENGINE, KERNELS),
        "host": name,
        "slots": [[slot.device, slot.name, slot.most_s] for slot in queue.slots],
        "gpus": [list(astuple(gpu)) for gpu in found],
    }


def check_address(address: str) -> None:
    """NotRunnable for what is neither encrypted nor on this computer: whoever reaches such a port can run programs."""
    protocol, _, place = address.partition("://")
    host = place.rpartition(":")[0].strip("[]")
    if protocol == "tls" or host == "localhost":
        return
    try:
        safe = protocol == "tcp" and ipaddress.ip_address(host).is_loopback
    except ValueError:
        safe = False
    if not safe:
        raise NotRunnable(
            f"The cluster's address {address} is not encrypted: make it tls://HOST:PORT, as docs/cluster.md says."
        )

"""Submit a Choice, get a Handle, read a Measurement: no kernel runs in the process that asks.

    handle = service.submit(settle(choice), session)  # returns at once; NotRunnable if it cannot run here
    while not handle.done.wait(0.1):
        bar.progress(*handle.progress)
    measurement = service.measurement_of(handle, choice)      # never raises: a failure is a record with a reason

`worker` is the process that runs jobs, `worker_slot` watches and replaces one, `queue` queues fairly for all slots;
this module knows what a Choice needs.
"""

from __future__ import annotations

import atexit
import hashlib
import importlib
import importlib.metadata
import os
import platform
import threading
from collections.abc import Sequence
from dataclasses import replace
from datetime import UTC, datetime
from functools import lru_cache
from typing import TYPE_CHECKING

from engine.backends.measure import DEADLINES_S, failed
from engine.catalogue import kernel_named
from engine.machine.devices import HostGpu, device_summary, gpus
from engine.plan import check_here, plan, settle
from engine.records import Choice, Measurement, NotRunnable, Settled
from engine.service.failures import Cancelled, JobFailed, JobTimeout, Rejected, WorkerDied
from engine.service.handle import Handle
from engine.service.job import Job
from engine.service.journal import JobEnd, Journal
from engine.service.limits import Allowances
from engine.service.queue import SESSION_LIMIT, JobQueue
from engine.service.queue_state import hosts_text
from engine.service.slots import slots_for
from engine.service.worker_slot import WorkerSlot

if TYPE_CHECKING:
    from engine.service.cluster import Cluster  # which needs what the plain installation lacks

__all__ = ["Cancelled", "Handle", "HostGpu", "Job", "JobFailed", "JobQueue", "JobTimeout", "Rejected",
           "WorkerDied", "WorkerSlot", "at_once", "connect", "device_summary", "disconnect", "failure_of",
           "gpus", "hosts", "leave", "measured", "measurement_of", "slots_for", "submit", "troubles"]  # fmt: skip

JOURNAL = Journal()  # of the process-wide queue
ALLOWANCES = Allowances()  # of those who ask it

CLUSTER = "DASK_SCHEDULER_ADDRESS"  # Dask's own variable: where the scheduler is whose hosts serve
AHEAD = 4  # runs of one reader for each worker: two GPUs end four short ones between two looks
WORD = 4  # bytes: what an operation takes or gives
CLUSTER_WAIT_S = 10.0  # for its first answer

_connecting = threading.Lock()
_connected: JobQueue | None = None
_cluster: Cluster | None = None


def connect() -> JobQueue:
    """The process-wide queue, made on the first call; `connect().warm()` starts its workers ahead of the first run.

    Its workers are this computer's, or a cluster's where the environment names one: NotRunnable if that cannot be.
    After `close()` the next call makes a new one.
    """
    global _connected, _cluster
    with _connecting:
        if _connected is None or _connected.closed:
            if _connected is None:
                atexit.register(disconnect)
            address = os.environ.get(CLUSTER)
            made = JobQueue(() if address else slots_for(gpus()), _told, ALLOWANCES.admit)
            if address:
                _cluster = _follow(address, made)
            _connected = made
        return _connected


def _follow(address: str, queue: JobQueue) -> Cluster:
    try:
        module = importlib.import_module("engine.service.cluster")
    except ImportError as error:
        raise NotRunnable(
            f"{CLUSTER} is set, and a cluster needs a package more ({error}): pip install -r requirements-cluster.txt "
            "-c constraints.txt"
        ) from None
    found: Cluster = module.Cluster(address, queue)
    found.wait(CLUSTER_WAIT_S)
    return found


def troubles() -> tuple[str, ...]:
    """What keeps hosts of the cluster from serving, a sentence each."""
    return () if _cluster is None else _cluster.troubles


def hosts() -> str | None:
    """Which hosts of the cluster serve with what, in words; None where this computer serves itself."""
    return None if _cluster is None else hosts_text(connect().state().serving) or "no host serves at the moment"


def connected() -> JobQueue | None:
    """The process-wide queue, if there is one and it is open."""
    with _connecting:
        return None if _connected is None or _connected.closed else _connected


def disconnect() -> None:
    """Close the process-wide queue, if there is one, and end its workers."""
    global _cluster
    with _connecting:
        if _connected is not None:
            _connected.close()
        if _cluster is not None:
            _cluster.close()
            _cluster = None


def at_once(device: str) -> int:
    """How many unfinished runs of one reader leave no worker of the device idle: the reader takes them in in order, and
    asks for more between two looks. A quarter of what a session may have is left to its other pages."""
    return min(max(1, AHEAD * connect().state().workers.get(device, 0)), 3 * SESSION_LIMIT // 4)


def submit(
    choice: Settled,
    session: str,
    *,
    deadline: float | None = None,
    fresh: bool = False,
    supersede: bool = False,
    urgent: bool = False,
) -> Handle:
    """Measure `choice` on a worker of its device. Raises NotRunnable, of which Rejected (queue full) is one.

    `deadline`: seconds, else the measurement's own. `fresh`: measure again although an identical run's result is kept.
    `supersede`: give up the session's unfinished runs first. `urgent`: before all that waits and is not.
    """
    check_here(choice)
    job = Job(
        "engine.backends.measure:measure",
        (choice,),
        deadline=DEADLINES_S[choice.device] if deadline is None else deadline,
        key=_key(choice),
        device=choice.device,
        model=choice.model,
        n=choice.n,
        memory=memory_of(choice),
        kind=choice.kernel,
        operations=_sizes(choice)[1],
    )
    return connect().submit(job, session, fresh=fresh, supersede=supersede, urgent=urgent)


def measured(choices: Sequence[Choice], session: str) -> list[Measurement]:
    """The record of each choice, in order, run on as many workers as there are. One that cannot run has one too."""
    handles: list[Handle | NotRunnable] = []
    records: list[Measurement] = []
    for choice in choices:
        known = len(records) + min(max(1, AHEAD * len(connect().slots)), SESSION_LIMIT)  # so that no worker is idle
        handles += [_asked(later, session) for later in choices[len(handles) : known]]
        handle = handles[len(records)]
        records.append(measurement_of(handle, choice) if isinstance(handle, Handle) else failed(choice, handle))
    return records


def _asked(choice: Choice, session: str) -> Handle | NotRunnable:
    try:
        return submit(settle(choice), session)
    except NotRunnable as refused:
        return refused


def leave(session: str, *, waiting_only: bool = False) -> None:
    """Give up all that `session` asked for, because its browser has gone; or of it what no worker has taken yet."""
    if not waiting_only:
        ALLOWANCES.leave(session)
    with _connecting:
        if _connected is not None:
            _connected.leave(session, waiting_only=waiting_only)


def measurement_of(handle: Handle, choice: Choice) -> Measurement:
    """Wait for the run and return its record. Every failure is a record too: status, reason, log.

    A result kept from an earlier, identical run carries a badge that says when it was measured.
    """
    try:
        measurement: Measurement = handle.result()
    except Exception as error:
        return failure_of(replace(choice, device=handle.job.device or choice.device), error)
    if handle.kept and handle.finished_utc is not None:
        when = datetime.fromtimestamp(handle.finished_utc, UTC)
        measurement = replace(
            measurement, badges=(*measurement.badges, f"result of an identical run at {when:%H:%M} UTC")
        )
    return measurement


def failure_of(choice: Choice, error: Exception) -> Measurement:
    """The record of a run that ended with `error`, whatever it is: the reason is one sentence, the log the details."""
    record = failed(choice, error)
    if isinstance(error, JobTimeout):
        record = replace(record, status="timeout")
    elif isinstance(error, Cancelled):
        record = replace(record, status="refused")
    elif isinstance(error, JobFailed):
        record = replace(record, log=error.traceback or None)
    if record.device["kind"] == "gpu" and gpus():
        record = replace(record, device={"kind": "gpu", "name": choice.model or gpus()[0].name})
    return record


def memory_of(choice: Settled) -> int:
    """The bytes of a run's arrays; 0 of one that cannot run, of which the worker says why."""
    return _sizes(choice)[0]


def _sizes(choice: Settled) -> tuple[int, int]:
    """The bytes of its arrays, and its operations or the words that it moves, whichever are more."""
    return _of_plan(replace(choice, source=None, source_name=None))  # whatever the text: its arrays are the rung's


@lru_cache(maxsize=4096)
def _of_plan(choice: Settled) -> tuple[int, int]:
    try:
        made = plan(choice)
    except NotRunnable:
        return 0, 0
    return made.memory, max(made.flops, made.bytes_moved // WORD)


def _told(end: JobEnd) -> None:
    JOURNAL.add(end)
    ALLOWANCES.ended(end)


def _key(choice: Settled) -> str:
    """What makes two runs the same: the source's text, all that was chosen, the device, the versions."""
    devices = sorted({(gpu.name, gpu.driver) for gpu in gpus()}) if choice.device == "gpu" else []
    same = repr((kernel_named(choice.kernel).text, choice, devices, _versions()))
    return hashlib.sha256(same.encode()).hexdigest()


@lru_cache(maxsize=1)
def _versions() -> tuple[str, ...]:
    found = [f"python {platform.python_version()}"]
    for name in ("numpy", "cupy-cuda13x", "cupy-cuda12x", "cupy", "nvidia-cuda-nvrtc"):
        try:
            found.append(f"{name} {importlib.metadata.version(name)}")
        except importlib.metadata.PackageNotFoundError:
            continue
    return tuple(found)

"""Submit runs of kernels, traces and checks of drafts to the workers: no kernel runs in the calling process.

    handle = service.submit(settle(choice), session)  # returns at once; NotRunnable if it cannot run here
    while not handle.done.wait(0.1):
        bar.progress(*handle.progress)
    measurement = service.measurement_of(handle, choice)      # never raises: a failure is a record with a reason

Equal requests share one run. `worker` is the process that runs jobs, `slots` watches and replaces workers, `queue`
is fair to all sessions; this module makes the jobs.
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
from typing import TYPE_CHECKING, Any

from engine.backends.measure import DEADLINES_S, failed
from engine.catalogue import kernel_named
from engine.machine.devices import HostGpu, device_summary, gpus
from engine.machine.environment import NVRTC_PACKAGES
from engine.plan import check_here, plan, settle
from engine.records import Choice, Measurement, NotRunnable, Settled
from engine.service.job import CHECKING, Cancelled, Job, JobFailed, JobTimeout, Rejected, WorkerDied
from engine.service.journal import JobEnd, Journal
from engine.service.limits import Allowances
from engine.service.queue import SESSION_LIMIT, Handle, JobQueue, hosts_text
from engine.service.slots import WorkerSlot, slots_for

if TYPE_CHECKING:
    from engine.service.cluster.hosts import Cluster  # which needs Dask

__all__ = ["Cancelled", "Handle", "HostGpu", "Job", "JobFailed", "JobQueue", "JobTimeout", "Rejected",
           "WorkerDied", "WorkerSlot", "at_once", "cluster_module", "connect", "device_summary", "disconnect",
           "failure_of", "gpus", "hosts", "leave", "measured", "measurement_of", "slots_for",
           "submit", "submit_debugger", "submit_estimate", "submit_own", "submit_own_estimate", "submit_picture",
           "submit_repeats", "submit_rung", "submit_time", "submit_trace", "troubles"]  # fmt: skip

JOURNAL = Journal()  # of the process-wide queue
ALLOWANCES = Allowances()  # of its browsers

CLUSTER = "DASK_SCHEDULER_ADDRESS"  # Dask's own variable: the scheduler of the cluster
CLUSTER_WAIT_S = 10.0  # for the scheduler's first answer
AHEAD = 4  # runs of one reader for each worker: two GPUs finish four short runs between two polls
TRACE_DEADLINE_S = 60.0
REPEATS_DEADLINE_S = 60.0

_connecting = threading.Lock()
_connected: JobQueue | None = None
_cluster: Cluster | None = None


def connect() -> JobQueue:
    """Return the process-wide queue, made on the first call and again after `close()`.

    Its workers are this computer's, or a cluster's if CLUSTER is set: NotRunnable if that cannot be used.
    `connect().warm()` starts the workers before the first run.
    """
    global _connected, _cluster
    with _connecting:
        if _connected is None or _connected.closed:
            if _connected is None:
                atexit.register(disconnect)
            address = os.environ.get(CLUSTER)
            queue = JobQueue(() if address else slots_for(gpus()), _record_end, ALLOWANCES.admit)
            if address:
                _cluster = cluster_module("hosts").Cluster(address, queue)
                _cluster.wait(CLUSTER_WAIT_S)
            _connected = queue
        return _connected


def cluster_module(name: str) -> Any:
    """Import a module of engine.service.cluster, the optional package. NotRunnable: Dask is not installed."""
    try:
        return importlib.import_module(f"engine.service.cluster.{name}")
    except ImportError as error:
        raise NotRunnable(
            f"A cluster needs another package ({error}): pip install -r requirements-cluster.txt -c constraints.txt"
        ) from None


def troubles() -> tuple[str, ...]:
    """Return why hosts of the cluster do not serve, a sentence each."""
    return () if _cluster is None else _cluster.troubles


def hosts() -> str | None:
    """Return the cluster's hosts in words; None if this computer runs the jobs itself."""
    return None if _cluster is None else hosts_text(connect().state().serving) or "no host serves at the moment"


def connected() -> JobQueue | None:
    """Return the process-wide queue if it is open."""
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
    """Return how many unfinished runs of one reader keep all workers of the device busy between two polls. A quarter of
    the session's limit is left to its other pages."""
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
    """Measure `choice` on a worker; the handle's result is a Measurement. NotRunnable; Rejected: the queue is full.

    `deadline`: seconds; None: the measurement's own. `fresh`: measure again although a result is cached. `supersede`:
    cancel the session's unfinished runs. `urgent`: before all waiting runs that are not.
    """
    check_here(choice)
    choice = replace(choice, record=None)  # browsers that look at different records share a run
    job = Job(
        "engine.backends.measure:measure",
        (choice,),
        deadline=DEADLINES_S[choice.device] if deadline is None else deadline,
        key=_key(choice),
        device=choice.device,
        model=choice.model,
        n=choice.n,
        memory=memory_of(choice),
    )
    return connect().submit(job, session, fresh=fresh, supersede=supersede, urgent=urgent)


def submit_trace(
    choice: Settled, block: int, session: str, *, launch: int = 1, fresh: bool = False, urgent: bool = False
) -> Handle:
    """Trace one block on a worker; the handle's result is a Trace."""
    return _submit_block("engine.picture.picture:trace", choice, block, session, launch, fresh, urgent)


def submit_picture(
    choice: Settled, block: int, session: str, *, launch: int = 1, fresh: bool = False, urgent: bool = False
) -> Handle:
    """Draw one block on a worker; the handle's result is a Packed."""
    return _submit_block("engine.picture.picture:packed", choice, block, session, launch, fresh, urgent)


def submit_estimate(choice: Settled, on: str, session: str, recorded_us: float | None = None) -> Handle:
    """Estimate a rung's time on a GPU, as a recording names it; the handle's result is an Estimate."""
    function = "engine.model.rungs:estimated"
    emulated = replace(choice, device="emulator", record=None, schedule=None)
    job = Job(
        function,
        (emulated, on, recorded_us),
        deadline=DEADLINES_S["emulator"],
        key=_digest(function, kernel_named(choice.kernel).text, emulated, on, recorded_us),
        device="emulator",
        n=choice.n,
        memory=memory_of(emulated),
    )
    return connect().submit(job, session)


def submit_repeats(choice: Settled, runs: int, session: str) -> Handle:
    """Run a float sum `runs` times on a worker of its device; the handle's result is a Repeats."""
    function = "engine.lectures.arithmetic.float_sums:repeat"
    job = Job(
        function,
        (choice, runs),
        deadline=REPEATS_DEADLINE_S,
        key=_digest(function, kernel_named(choice.kernel).text, choice, runs),
        device=choice.device,
        n=choice.n,
        memory=memory_of(choice),
    )
    return connect().submit(job, session, fresh=True)


def submit_rung(choice: Settled, session: str) -> Handle:
    """Check a rung's draft, the source of `choice`; the handle's result is a Checked."""
    emulated = replace(choice, device="emulator")
    return _submit_check(f"{CHECKING}:check_rung", (emulated,), session, choice.n, memory_of(emulated))


def submit_own(
    setup: object, n: int, text: str, file_name: str, schedule: str | None, session: str, again: bool = True
) -> Handle:
    """Check a reader's own launch, a Setup, with `again` as `check_own` has it; the handle's result is a Checked."""
    return _submit_check(f"{CHECKING}:check_own", (setup, n, text, file_name, schedule, again), session, n)


def submit_own_estimate(setup: object, n: int, text: str, file_name: str, session: str) -> Handle:
    """Estimate the time of a reader's own launch, a Setup; the handle's result is an Estimate."""
    return _submit_check(f"{CHECKING}:estimate_own", (setup, n, text, file_name), session, n)


def submit_debugger(
    asked: object, n: int, text: str, file_name: str, schedule: str | None, block: int, launch: int,
    element: tuple[str, int] | None, session: str,
) -> Handle:  # fmt: skip
    """Record a block for the debugger: of a rung's draft, `asked` as a Settled, or of a reader's own launch, a Setup.

    The handle's result is a Debugger. It may raise.
    """
    arguments: tuple[object, ...]
    if isinstance(asked, Settled):
        edited = replace(asked, device="emulator", schedule=schedule, source=text, source_name=file_name)
        function, arguments = "debug_rung", (edited, block, launch, element)
    else:
        function, arguments = "debug_own", (asked, n, text, file_name, schedule, block, element)
    job = Job(f"{CHECKING}:{function}", arguments, deadline=DEADLINES_S["emulator"], device="emulator", n=n)
    return connect().submit(job, session)


def submit_time(setup: object, n: int, text: str, file_name: str, session: str) -> Handle:
    """Time a reader's own launch, a Setup, on a GPU, uncached; the handle's result is a Measurement. It may raise."""
    job = Job(f"{CHECKING}:time_own", (setup, n, text, file_name), deadline=DEADLINES_S["gpu"], device="gpu", n=n)
    return connect().submit(job, session)


def measured(choices: Sequence[Choice], session: str) -> list[Measurement]:
    """Return the record of each choice, in order, run on all workers at once. A choice that cannot run has a record,
    too."""
    handles: list[Handle | NotRunnable] = []
    records: list[Measurement] = []
    for choice in choices:
        wanted = len(records) + min(max(1, AHEAD * len(connect().slots)), SESSION_LIMIT)  # so no worker is idle
        handles += [_submit_or_refusal(later, session) for later in choices[len(handles) : wanted]]
        handle = handles[len(records)]
        records.append(measurement_of(handle, choice) if isinstance(handle, Handle) else failed(choice, handle))
    return records


def leave(session: str, *, waiting_only: bool = False) -> None:
    """Cancel all runs of a session because its browser has gone; `waiting_only`: those that no worker has taken yet."""
    if not waiting_only:
        ALLOWANCES.leave(session)
    with _connecting:
        if _connected is not None:
            _connected.leave(session, waiting_only=waiting_only)


def measurement_of(handle: Handle, choice: Choice) -> Measurement:
    """Wait for a run and return its record. A failure is a record too: status, reason, log.

    The cached result of an identical run carries a badge with the time of that run.
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
    """Return the record of a run that ended with any `error`: the reason is one sentence, the log has the details."""
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
    """Return the bytes of a run's arrays; 0 for a run that the worker will refuse.

    The worker plans again: a plan takes 0.03 ms (median of all rungs, 0.9 ms at most), less than sending one.
    """
    try:
        return plan(choice).memory
    except NotRunnable:
        return 0


def _submit_block(
    function: str, choice: Settled, block: int, session: str, launch: int, fresh: bool, urgent: bool
) -> Handle:
    emulated = replace(choice, device="emulator", record=None)
    job = Job(
        function,
        (emulated, block),
        deadline=TRACE_DEADLINE_S,
        key=_digest(function, kernel_named(choice.kernel).text, emulated, block, launch),
        keywords=(("launch", launch),),
        device="emulator",
        n=emulated.n,
        memory=memory_of(emulated),
    )
    return connect().submit(job, session, fresh=fresh, urgent=urgent)


def _submit_check(function: str, arguments: tuple[object, ...], session: str, n: int, memory: int = 0) -> Handle:
    job = Job(
        function,
        arguments,
        deadline=DEADLINES_S["emulator"],
        key=_digest(function, arguments),
        device="emulator",
        n=n,
        memory=memory,
    )
    return connect().submit(job, session)


def _submit_or_refusal(choice: Choice, session: str) -> Handle | NotRunnable:
    try:
        return submit(settle(choice), session)
    except NotRunnable as refused:
        return refused


def _record_end(end: JobEnd) -> None:
    JOURNAL.add(end)
    ALLOWANCES.ended(end)


def _key(choice: Settled) -> str:
    """Return the key of a measurement: equal for the same kernel text, choice, device and versions."""
    devices = sorted({(gpu.name, gpu.driver) for gpu in gpus()}) if choice.device == "gpu" else []
    return _digest(kernel_named(choice.kernel).text, choice, devices, _versions())


def _digest(*parts: object) -> str:
    return hashlib.sha256(repr(parts).encode()).hexdigest()


@lru_cache(maxsize=1)
def _versions() -> tuple[str, ...]:
    found = [f"python {platform.python_version()}"]
    for name in ("numpy", "cupy-cuda13x", "cupy-cuda12x", "cupy", *NVRTC_PACKAGES.values()):
        try:
            found.append(f"{name} {importlib.metadata.version(name)}")
        except importlib.metadata.PackageNotFoundError:
            continue
    return tuple(found)

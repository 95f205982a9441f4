"""The hosts that serve a dashboard, as they come and go: their slots in its queue, with jobs sent by Dask."""

from __future__ import annotations

import logging
import pickle
import threading
import time
from collections import Counter
from collections.abc import Callable, Mapping
from operator import attrgetter, itemgetter, methodcaller
from typing import Any
from uuid import uuid4

import dask
from distributed import Client, get_worker
from toolz import compose

from engine.machine import devices
from engine.machine.devices import HostGpu
from engine.machine.environment import ENGINE, KERNELS, program_version
from engine.records import Progress
from engine.service.cluster import NAME, SETTINGS, check_address, check_certificate
from engine.service.job import Cancelled, HostLost, JobFailed, Outcome
from engine.service.queue import JobQueue

LOG = logging.getLogger("kernel_ladder.cluster")
POLL_S = 0.5  # between two looks at the scheduler's list of hosts
RETRY_S = 1.0  # before a lost scheduler is connected to again
CONNECT_S = 5.0
END_S = 2.0  # for the thread to end; one that waits for a scheduler is left behind
ABSENT_S = 60.0  # for a device that no host has any more; then the runs that wait for it are reassigned
GATHER_S = 10.0  # for a finished result to arrive; else its host is lost


class RemoteSlot:
    """A `Slot` of the host whose Dask worker is at `address`. The host warms, watches and replaces its own workers.

    `reports`: by the name of a run, the function that receives its progress.
    """

    def __init__(
        self, client: Client, address: str, host: str, device: str, name: str, reports: dict[str, Progress]
    ) -> None:
        self.host, self.device, self.name = host, device, name
        self._client, self._address, self._reports = client, address, reports
        self._wake = threading.Event()
        self.lost = False

    def start(self) -> None:
        """Do nothing: the host starts its own workers."""

    def run(
        self,
        job: bytes,
        deadline_s: float,
        progress: Progress,
        cancelled: Callable[[], bool],
        session: str,
        urgent: bool,
    ) -> Outcome:
        """Run a job on the host. An outcome that is `lost` ends the slot."""
        run = f"{NAME}-{uuid4().hex}"
        self._reports[run] = progress
        try:
            model = self.name if self.device == "gpu" else None
            outcome = self._wait(run, (job, deadline_s, self.device, model, session, urgent), cancelled)
        except Exception:  # any exception of Dask's client means that the way to the host is gone
            outcome = None
        finally:
            del self._reports[run]
        if outcome is None:
            self.lost = True
            return Outcome(False, pickle.dumps(HostLost()), lost=True)
        return outcome

    def interrupt(self) -> None:
        """Make `run` check `cancelled()` now."""
        self._wake.set()

    def lose(self) -> None:
        """Mark the host as lost. Any thread may call it."""
        self.lost = True
        self._wake.set()

    def close(self) -> None:
        """Do nothing: the host goes on for other dashboards."""

    def _wait(self, run: str, job: tuple[object, ...], cancelled: Callable[[], bool]) -> Outcome | None:
        """Send a job and wait for its outcome; None: the host was lost."""
        # Built of names that Dask itself has: the scheduler unpickles it and need not have this program.
        serve = compose(methodcaller("run", run, *job), itemgetter(NAME), attrgetter("plugins"), get_worker)
        task = self._client.submit(serve, key=run, workers=[self._address], pure=False)
        try:
            task.add_done_callback(lambda _: self._wake.set())
            while not (task.done() or self.lost or cancelled()):
                self._wake.wait()
                self._wake.clear()
            if task.status == "finished":
                return Outcome(*task.result(GATHER_S))
            if task.status == "error":
                error = task.exception(GATHER_S)
                return Outcome.failure(JobFailed(type(error).__name__, str(error), ""))
            if cancelled() and not self.lost:
                return Outcome.failure(Cancelled())
            return None
        finally:
            task.cancel()  # the host sees it and stops the run if it is still going


class Cluster:
    """Follows a cluster in its own thread and keeps a queue supplied with the hosts' slots. NotRunnable: the address is
    not encrypted."""

    def __init__(self, address: str, queue: JobQueue) -> None:
        check_address(address)
        check_certificate(address, "client")
        dask.config.update_defaults(SETTINGS)
        logging.getLogger("distributed.client").setLevel(logging.CRITICAL)  # `troubles` has it in a sentence
        self._address, self._queue = address, queue
        self._slots: dict[str, list[RemoteSlot]] = {}  # by the address of the host's Dask worker
        self._reports: dict[str, Progress] = {}
        self._gpus_seen = time.monotonic()
        self._troubles: tuple[str, ...] = ()
        self._answered, self._closing = threading.Event(), threading.Event()
        devices.set_gpus(())
        self._thread = threading.Thread(target=self._follow, name="cluster", daemon=True)
        self._thread.start()

    @property
    def troubles(self) -> tuple[str, ...]:
        """Why hosts do not serve, a sentence each."""
        return self._troubles

    def wait(self, seconds: float) -> None:
        """Wait until the scheduler has answered or failed, but no longer than this."""
        self._answered.wait(seconds)

    def close(self) -> None:
        """Stop following the cluster."""
        self._closing.set()
        self._thread.join(END_S)
        devices.set_gpus(None)

    def _follow(self) -> None:
        while not self._closing.is_set():
            try:
                self._poll(Client(self._address, timeout=CONNECT_S, set_as_default=False, name=NAME))
            except Exception as error:  # of Dask, Tornado, ssl or the system: the scheduler cannot be reached
                self._set_troubles(f"The cluster's scheduler at {self._address} does not answer: {error!s:.300}")
            self._update(None, {})
            self._closing.wait(RETRY_S)

    def _poll(self, client: Client) -> None:
        """Poll the scheduler's list of hosts until the scheduler goes."""
        try:
            client.subscribe_topic(NAME, self._report)
            while client.status == "running" and not self._closing.is_set():
                self._update(client, client.scheduler_info()["workers"])
                self._closing.wait(POLL_S)
            if not self._closing.is_set():
                self._set_troubles(f"The cluster's scheduler at {self._address} has gone; the dashboard looks for it.")
        finally:
            for address in list(self._slots):
                self._lose(address)
            client.close(timeout=CONNECT_S)

    def _report(self, event: tuple[float, Any]) -> None:
        run, fraction, text = event[1]
        report = self._reports.get(run)
        if report:
            report(fraction, text)

    def _update(self, client: Client | None, workers: Mapping[str, Mapping[str, Any]]) -> None:
        offers = {address: worker[NAME] for address, worker in workers.items() if NAME in worker}
        own = program_version(ENGINE, KERNELS)
        fit = {address: offer for address, offer in offers.items() if offer["version"] == own}
        # Before the slots: whoever sees a GPU's worker may ask which GPU it is.
        self._set_gpus([HostGpu(*gpu) for offer in fit.values() for gpu in offer["gpus"]])
        for address, slots in list(self._slots.items()):
            if address not in fit or any(slot.lost for slot in slots):
                self._lose(address)
        if client is not None:
            for address, offer in fit.items():
                if address not in self._slots:
                    self._slots[address] = [
                        RemoteSlot(client, address, offer["host"], device, name, self._reports)
                        for device, name in offer["slots"]
                    ]
                    for slot in self._slots[address]:
                        self._queue.add(slot)
            other = sorted({offer["host"] for offer in offers.values() if offer not in fit.values()})
            self._set_troubles(*[f"{host} runs another version of this program and does not serve." for host in other])
        self._queue.reassign(ABSENT_S)

    def _lose(self, address: str) -> None:
        for slot in self._slots.pop(address):
            slot.lose()
            self._queue.drop(slot)

    def _set_troubles(self, *troubles: str) -> None:
        if troubles != self._troubles:
            for trouble in troubles:
                LOG.warning(trouble)
        self._troubles = troubles
        self._answered.set()

    def _set_gpus(self, found: list[HostGpu]) -> None:
        """Set the GPUs that "automatic" chooses from. After the last one went, they stay set for ABSENT_S."""
        if found:
            self._gpus_seen = time.monotonic()
        elif time.monotonic() - self._gpus_seen < ABSENT_S:
            return
        count = Counter(gpu.name for gpu in found)
        devices.set_gpus(tuple(sorted(found, key=lambda gpu: (-count[gpu.name], gpu.name, gpu.uuid))))

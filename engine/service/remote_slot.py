"""A worker slot on another host: its jobs travel as Dask tasks."""

from __future__ import annotations

import pickle
import threading
from collections.abc import Callable
from operator import attrgetter, itemgetter, methodcaller
from uuid import uuid4

from distributed import Client, get_worker
from toolz import compose

from engine.records import Progress
from engine.service.failures import Cancelled, HostLost, JobFailed
from engine.service.host import NAME
from engine.service.slot import Asker, Outcome

GATHER_S = 10.0  # a result that is ready is here by then, or its host has gone with it


class RemoteSlot:
    """A `Slot` of the host whose Dask worker is at `address`. The host warms, watches and replaces its workers.

    `reports`: where the progress of a run is told, by the run's name, while it lasts.
    """

    def __init__(
        self,
        client: Client,
        address: str,
        host: str,
        device: str,
        name: str,
        most_s: float,
        reports: dict[str, Progress],
    ) -> None:
        self.host, self.device, self.name, self.most_s = host, device, name, most_s
        self._client, self._address, self._reports = client, address, reports
        self._wake = threading.Event()
        self.lost = False

    def start(self) -> None:
        """The host has done it."""

    def run(
        self, job: bytes, deadline_s: float, progress: Progress, cancelled: Callable[[], bool], asker: Asker
    ) -> Outcome:
        """As the queue asks for it. An outcome that is `lost` ends the slot."""
        run = f"{NAME}-{uuid4().hex}"
        self._reports[run] = progress
        try:
            whose = (asker.session, asker.urgent, asker.kind, asker.operations)  # of types that a scheduler knows, too
            outcome = self._ended(run, (job, deadline_s, self.device, self._model, *whose), cancelled)
        except Exception:  # whatever the client of a cluster raises that is going away
            outcome = None
        finally:
            del self._reports[run]
        if outcome is None:
            self.lost = True
            return Outcome(False, pickle.dumps(HostLost()), lost=True)
        return outcome

    def interrupt(self) -> None:
        """Make `run` look at `cancelled()` now."""
        self._wake.set()

    def lose(self) -> None:
        """The host is no longer there. From any thread."""
        self.lost = True
        self._wake.set()

    def close(self) -> None:
        """The host goes on for others."""

    @property
    def _model(self) -> str | None:
        return self.name if self.device == "gpu" else None

    def _ended(self, run: str, job: tuple[object, ...], cancelled: Callable[[], bool]) -> Outcome | None:
        """How the job ended; None: its host went away, or the way there."""
        # Of names that Dask itself has: the scheduler reads what it passes on, and need not have this program.
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
            task.cancel()  # which the host sees, and stops what still runs

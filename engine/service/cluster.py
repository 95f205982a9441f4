"""The hosts that serve a dashboard, followed as they come and go: Dask knows which, the job queue what they do."""

from __future__ import annotations

import logging
import threading
import time
from collections import Counter
from collections.abc import Mapping
from typing import Any

import dask
from distributed import Client

from engine.machine import devices
from engine.machine.devices import HostGpu
from engine.machine.environment import ENGINE, KERNELS, program_version
from engine.records import Progress
from engine.service.host import NAME, SETTINGS, check_address
from engine.service.queue import JobQueue
from engine.service.remote_slot import RemoteSlot

LOG = logging.getLogger("kernel_ladder.cluster")
LOOK_S = 0.5  # how often the scheduler is asked who is there
AGAIN_S = 1.0  # before a scheduler that went is looked for again
CONNECT_S = 5.0
END_S = 2.0  # a thread that waits for a scheduler is left behind
ABSENT_S = 60.0  # what waits for a kind of worker is given up when none has served for so long


class Cluster:
    """Keeps a queue supplied with the slots of a cluster, in a thread of its own. NotRunnable: it is not encrypted."""

    def __init__(self, address: str, queue: JobQueue) -> None:
        check_address(address)
        dask.config.update_defaults(SETTINGS)
        logging.getLogger("distributed.client").setLevel(logging.CRITICAL)  # `troubles` say it in a sentence
        self._address, self._queue = address, queue
        self._slots: dict[str, list[RemoteSlot]] = {}  # by the address of the host's Dask worker
        self._reports: dict[str, Progress] = {}
        self._seen = time.monotonic()  # when a GPU was last there
        self._troubles: tuple[str, ...] = ()
        self._told, self._closing = threading.Event(), threading.Event()
        devices.set_gpus(())
        self._thread = threading.Thread(target=self._follow, name="cluster", daemon=True)
        self._thread.start()

    @property
    def troubles(self) -> tuple[str, ...]:
        """What keeps hosts from serving, a sentence each."""
        return self._troubles

    def wait(self, seconds: float) -> None:
        """Wait so long at most until the scheduler has answered, or has not."""
        self._told.wait(seconds)

    def close(self) -> None:
        """Follow it no more."""
        self._closing.set()
        self._thread.join(END_S)
        devices.set_gpus(None)

    def _follow(self) -> None:
        while not self._closing.is_set():
            try:
                self._look_on(Client(self._address, timeout=CONNECT_S, set_as_default=False, name=NAME))
            except Exception as error:  # of Dask's, Tornado's, ssl's or the system's kind: it is not there
                self._tell(f"The cluster's scheduler at {self._address} does not answer: {error!s:.300}")
            self._update(None, {})
            self._closing.wait(AGAIN_S)

    def _look_on(self, client: Client) -> None:
        """Follow who is there until the scheduler goes."""
        try:
            client.subscribe_topic(NAME, self._report)
            while client.status == "running" and not self._closing.is_set():
                self._update(client, client.scheduler_info()["workers"])
                self._closing.wait(LOOK_S)
            if not self._closing.is_set():
                self._tell(f"The cluster's scheduler at {self._address} has gone; it is looked for.")
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
        for address, slots in list(self._slots.items()):
            if address not in fit or any(slot.lost for slot in slots):
                self._lose(address)
        if client is not None:
            for address, offer in fit.items():
                if address not in self._slots:
                    self._slots[address] = [
                        RemoteSlot(client, address, offer["host"], device, name, most_s, self._reports)
                        for device, name, most_s in offer["slots"]
                    ]
                    for slot in self._slots[address]:
                        self._queue.add(slot)
            other = sorted({offer["host"] for offer in offers.values() if offer not in fit.values()})
            self._tell(*[f"{host} runs another version of this program and does not serve." for host in other])
        self._tell_gpus([HostGpu(*gpu) for offer in fit.values() for gpu in offer["gpus"]])
        self._queue.give_up(ABSENT_S)

    def _lose(self, address: str) -> None:
        for slot in self._slots.pop(address):
            slot.lose()
            self._queue.drop(slot)

    def _tell(self, *troubles: str) -> None:
        if troubles != self._troubles:
            for trouble in troubles:
                LOG.warning(trouble)
        self._troubles = troubles
        self._told.set()

    def _tell_gpus(self, found: list[HostGpu]) -> None:
        """Of which "automatic" is one. For a while after the last one went they are expected back."""
        if found:
            self._seen = time.monotonic()
        elif time.monotonic() - self._seen < ABSENT_S:
            return
        count = Counter(gpu.name for gpu in found)
        devices.set_gpus(tuple(sorted(found, key=lambda gpu: (-count[gpu.name], gpu.name, gpu.uuid))))

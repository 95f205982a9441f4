"""Whether the service can work, and how much it does: for load balancers, Prometheus and the doctor."""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import asdict, dataclass

from engine.service import service
from engine.service.journal import family
from engine.service.queue_state import QueueState
from engine.store import database


@dataclass(frozen=True)
class Readiness:
    """`ready`: whether a browser that comes now can work; `reasons`: why not, or what does not work as it should."""

    ready: bool
    reasons: tuple[str, ...]
    queue: QueueState | None

    def flat(self) -> dict[str, object]:
        """As JSON has it."""
        return asdict(self)


def readiness() -> Readiness:
    """Of this process's own service."""
    queue = service.connected()
    if queue is None:
        return Readiness(False, ("The queue is not there yet, or closed.",), None)
    trouble = database.trouble()  # is told, and stops nobody
    state = queue.state()
    nobody = () if state.serving else ("There is no worker at the moment.",)
    return Readiness(bool(state.serving), (*service.troubles(), *nobody, *([trouble] if trouble else [])), state)


def metrics(browsers: int) -> str:
    """All numbers in Prometheus' text format; `browsers`: how many have a connection."""
    found = readiness()
    parts = [
        family("kernel_ladder_ready", "gauge", "whether the service can work", [({}, float(found.ready))]),
        family("kernel_ladder_store_writable", "gauge", "whether what is written gets into the file",
               [({}, float(database.trouble() is None))]),
        family("kernel_ladder_browsers", "gauge", "open connections of pages", [({}, float(browsers))]),
    ]  # fmt: skip
    if found.queue is not None:
        state = found.queue
        for name, meaning, values in (
            ("kernel_ladder_workers", "worker slots", state.workers),
            ("kernel_ladder_running_jobs", "jobs on a worker", state.running),
            ("kernel_ladder_waiting_jobs", "jobs in the queue", state.waiting),
        ):
            parts.append(family(name, "gauge", meaning, _by_device(values)))
        who = [
            ({"host": one.host, "device": one.device, "name": one.name}, float(one.workers)) for one in state.serving
        ]
        parts.append(family("kernel_ladder_serving_workers", "gauge", "worker slots by host and model", who))
        parts.append(family("kernel_ladder_waiting_sessions", "gauge", "tabs that wait", [({}, float(state.sessions))]))
        shared = [({"how": "joined"}, float(state.joined)), ({"how": "kept"}, float(state.kept))]
        parts.append(family("kernel_ladder_shared_total", "counter", "requests that an equal one answered", shared))
    return "".join(parts) + service.JOURNAL.text()


def _by_device(values: Mapping[str, int]) -> list[tuple[dict[str, str], float]]:
    return [({"device": device}, float(value)) for device, value in sorted(values.items())]

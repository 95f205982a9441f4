"""The state of the service for load balancers, Prometheus and the doctor: of this process, or of a running server."""

from __future__ import annotations

import json
import os
import urllib.error
import urllib.request
from collections.abc import Mapping
from dataclasses import asdict, dataclass
from typing import Any

from engine.service import service
from engine.service.journal import family
from engine.service.queue import QueueState, Serving, hosts_text
from engine.store import database

TIMEOUT_S = 5.0
KEY = "KERNEL_LADDER_KEY"
NEEDS_KEY = f"it asks for a key: set {KEY} to the key of a presenter or an assistant"


@dataclass(frozen=True)
class Readiness:
    """`ready`: whether the service can run jobs; `reasons`: why not, or what else does not work."""

    ready: bool
    reasons: tuple[str, ...]
    queue: QueueState | None

    def flat(self) -> dict[str, object]:
        """Return the record as JSON objects."""
        return asdict(self)


def readiness() -> Readiness:
    """Return the readiness of this process's service."""
    queue = service.connected()
    if queue is None:
        return Readiness(False, ("The queue is not open.",), None)
    trouble = database.trouble()  # reported, but the service works without the file
    state = queue.state()
    no_worker = () if state.serving else ("There is no worker at the moment.",)
    return Readiness(bool(state.serving), (*service.troubles(), *no_worker, *([trouble] if trouble else [])), state)


def metrics(browsers: int) -> str:
    """Return all metrics in Prometheus' text format. `browsers`: how many are connected."""
    found = readiness()
    parts = [
        family("kernel_ladder_ready", "gauge", "whether the service can work", [({}, float(found.ready))]),
        family("kernel_ladder_store_writable", "gauge", "whether the store's file can be written",
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
        slots = [
            ({"host": one.host, "device": one.device, "name": one.name}, float(one.workers)) for one in state.serving
        ]
        parts.append(family("kernel_ladder_serving_workers", "gauge", "worker slots by host and model", slots))
        parts.append(family("kernel_ladder_waiting_sessions", "gauge", "tabs that wait", [({}, float(state.sessions))]))
        shared = [({"how": "joined"}, float(state.joined)), ({"how": "kept"}, float(state.kept))]
        parts.append(family("kernel_ladder_shared_total", "counter", "requests that an identical run answered", shared))
    return "".join(parts) + service.JOURNAL.text()


def server_readiness(address: str) -> tuple[bool, str]:
    """Ask the server at `address` (http://host:port) whether it can work; return that and its state in one line.

    Sends the key in KERNEL_LADDER_KEY, if there is one.
    """
    url = address.rstrip("/") + "/readyz"
    if not url.startswith(("http://", "https://")):
        return False, f"{address} is not the address of a server: write http://127.0.0.1:8501"
    try:
        key = os.environ.get(KEY)
        request = urllib.request.Request(url)
        if key:
            request.add_unredirected_header("Authorization", f"Bearer {key}")
        with urllib.request.urlopen(request, timeout=TIMEOUT_S) as answer:
            found = json.load(answer)
    except urllib.error.HTTPError as error:
        with error:
            return False, NEEDS_KEY if error.code in (401, 403) else _refusal(error.read(), error.code)
    except (OSError, ValueError) as error:
        return False, f"{url} does not answer: {error}"
    return not found["reasons"], "; ".join([*found["reasons"], *_queue_lines(found["queue"])])


def _refusal(body: bytes, status: int) -> str:
    try:
        return "; ".join(json.loads(body)["reasons"])
    except (ValueError, KeyError, TypeError):
        return f"it answers with status {status}: another program, or an earlier version"


def _queue_lines(queue: dict[str, Any]) -> list[str]:
    hosts = hosts_text(Serving(**one) for one in queue.get("serving", ()))  # an earlier version has none
    lines = [
        f"{device}: {workers} workers, {queue['running'][device]} jobs running, {queue['waiting'][device]} waiting"
        for device, workers in sorted(queue["workers"].items())
    ]
    return [hosts, *lines] if hosts else lines


def _by_device(values: Mapping[str, int]) -> list[tuple[dict[str, str], float]]:
    return [({"device": device}, float(value)) for device, value in sorted(values.items())]

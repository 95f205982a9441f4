"""The state of the service for load balancers, Prometheus and the doctor: of this process, or of a running server."""

from __future__ import annotations

import math
import os
import threading
import time
import urllib.error
import urllib.request
from collections.abc import Mapping
from dataclasses import asdict, dataclass
from typing import Any

from engine.compile import process
from engine.compile.confinement import missing_confinement
from engine.compile.nvrtc import EMULATED_ARCHITECTURE, compile_source
from engine.records import CompileError, NotRunnable, Source
from engine.records.json_text import read_json
from engine.records.words import reason_text
from engine.service import service
from engine.service.journal import family
from engine.service.queue import QueueState, Serving, hosts_text
from engine.store import database

TIMEOUT_S = 5.0
RETRY_S = 30.0  # after a failed trial of the compiler
KEY = "KERNEL_LADDER_KEY"
NEEDS_KEY = f"it asks for a key: set {KEY} to the key of a presenter or an assistant"


@dataclass(frozen=True)
class Readiness:
    """`ready`: whether the service can run jobs; `reasons`: why not, or what else does not work; `notes`: what is less
    safe than it could be."""

    ready: bool
    reasons: tuple[str, ...]
    queue: QueueState | None
    notes: tuple[str, ...] = ()

    def flat(self) -> dict[str, object]:
        """Return the record as JSON objects."""
        return asdict(self)


def readiness() -> Readiness:
    """Return the readiness of this process's service."""
    notes = tuple(filter(None, [missing_confinement()]))
    queue = service.connected()
    if queue is None:
        return Readiness(False, ("The queue is not open.",), None, notes)
    compiler = _compiler.trouble()
    trouble = database.trouble()  # reported, but the service works without the file
    state = queue.state()
    no_worker = () if state.serving else ("There is no worker at the moment.",)
    reasons = (*service.troubles(), *no_worker, *filter(None, (compiler, trouble)))
    return Readiness(bool(state.serving) and compiler is None, reasons, state, notes)


class _Compiler:
    """The state of the compiler on this computer, as the last trial found it."""

    def __init__(self) -> None:
        self._trouble: str | None = None
        self._next = 0.0  # the time of the next trial
        self._lock = threading.Lock()

    def trouble(self) -> str | None:
        """Return why the last trial failed, and begin the first one, or the next after a failed one."""
        with self._lock:
            if time.monotonic() >= self._next:
                self._next = math.inf
                threading.Thread(target=self._try, daemon=True).start()
            return self._trouble

    def _try(self) -> None:
        self._trouble = compiler_trouble()
        if self._trouble is not None:
            self._next = time.monotonic() + RETRY_S


_compiler = _Compiler()


def compiler_trouble() -> str | None:
    """Compile a small kernel as if a student had written it; return why that fails, or None."""
    source = Source("trial.cu", 'extern "C" __global__ void k(int *x) { x[0] = 1; }', "", foreign=True)
    try:
        compile_source(source, EMULATED_ARCHITECTURE)
    except (CompileError, NotRunnable) as error:
        return f"No kernel can be compiled. {error}"
    finally:
        process.stop()  # this process needs it no more: kernels compile in the workers
    return None


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
            found = read_json(answer.read())
            notes = found.get("notes", ())  # an earlier version has none
            return not found["reasons"], "; ".join([*found["reasons"], *_queue_lines(found["queue"]), *notes])
    except urllib.error.HTTPError as error:
        with error:
            return False, NEEDS_KEY if error.code in (401, 403) else _refusal(error.read(), error.code)
    except (OSError, ValueError) as error:
        return False, f"{url} does not answer: {reason_text(error)}"
    except (KeyError, TypeError, AttributeError):
        return False, f"{url} answers, but not as this program: it is another one, or another version"


def _refusal(body: bytes, status: int) -> str:
    try:
        return "; ".join(read_json(body)["reasons"])
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

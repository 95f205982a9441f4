"""The journal of jobs that ended: a line of JSON each in the server's log, and metrics for Prometheus."""

from __future__ import annotations

import json
import logging
import sys
import threading
from bisect import bisect_left
from collections import Counter
from collections.abc import Iterable, Mapping
from dataclasses import asdict, dataclass
from datetime import UTC, datetime

from engine.records import CompileError, NotRunnable, RunFailed
from engine.service.job import Cancelled, JobTimeout, Outcome, WorkerDied

LOG = logging.getLogger("kernel_ladder.jobs")
SECONDS = (0.05, 0.1, 0.25, 0.5, 1.0, 2.5, 5.0, 10.0, 30.0, 60.0)  # upper bounds of the histograms' buckets

Labels = Mapping[str, str]


@dataclass(frozen=True)
class JobEnd:
    """A job that ended. `outcome`: ok, cancelled, failed, or a Measurement's status; `readers`: how many callers waited
    for it; `waited_s`, `ran_s`: seconds, the latter None if no worker took the job."""

    function: str
    device: str
    session: str
    outcome: str
    readers: int
    waited_s: float
    ran_s: float | None


class Journal:
    """Counts of ended jobs since the server's start. Any thread may call any method."""

    def __init__(self) -> None:
        self._lock = threading.Lock()
        self._ended: Counter[tuple[str, str]] = Counter()  # (device, outcome)
        self._waited: dict[str, _Histogram] = {}
        self._ran: dict[str, _Histogram] = {}

    def add(self, end: JobEnd) -> None:
        """Count a job that ended and write its line to the log."""
        with self._lock:
            self._ended[end.device, end.outcome] += 1
            if end.ran_s is not None:
                self._waited.setdefault(end.device, _Histogram()).add(end.waited_s)
                self._ran.setdefault(end.device, _Histogram()).add(end.ran_s)
        # The full session name is private; its beginning is enough to tell sessions apart.
        ran_s = None if end.ran_s is None else round(end.ran_s, 6)
        short = {"session": end.session[:8], "waited_s": round(end.waited_s, 6), "ran_s": ran_s}
        line = asdict(end) | short
        LOG.info(json.dumps({"utc": datetime.now(UTC).isoformat(timespec="milliseconds"), "event": "job", **line}))

    def text(self) -> str:
        """Return the counters and histograms in Prometheus' text format."""
        with self._lock:
            ended = [({"device": device, "outcome": how}, n) for (device, how), n in sorted(self._ended.items())]
            return "".join(
                (
                    family("kernel_ladder_jobs_total", "counter", "jobs that ended", ended),
                    _histograms("kernel_ladder_wait_seconds", "from asking to a worker", self._waited),
                    _histograms("kernel_ladder_run_seconds", "on a worker", self._ran),
                )
            )


class _Histogram:
    def __init__(self) -> None:
        self.counts, self.sum = [0] * (len(SECONDS) + 1), 0.0

    def add(self, seconds: float) -> None:
        self.counts[bisect_left(SECONDS, seconds)] += 1
        self.sum += seconds


def outcome_word(outcome: Outcome) -> str:
    """Return how a job ended, in one word."""
    if outcome.ok:
        return "ok"
    try:
        outcome.value()
    except RunFailed as failure:
        return failure.status
    except Exception as error:
        words = {Cancelled: "cancelled", JobTimeout: "timeout", WorkerDied: "crashed", NotRunnable: "refused",
                 CompileError: "compile-error"}  # fmt: skip
        return next((word for kind, word in words.items() if isinstance(error, kind)), "failed")
    return "failed"


def family(name: str, kind: str, meaning: str, samples: Iterable[tuple[Labels, float]]) -> str:
    """Return a metric in Prometheus' text format, version 0.0.4. `samples`: (labels, value)."""
    lines = [f"# HELP {name} {meaning}", f"# TYPE {name} {kind}"]
    lines += [f"{name}{_labels(labels)} {value:g}" for labels, value in samples]
    return "\n".join(lines) + "\n"


def to_stderr() -> None:
    """Write this program's log lines to standard error, unless that is a terminal."""
    ours = logging.getLogger("kernel_ladder")
    if not sys.stderr.isatty() and not ours.handlers:
        ours.addHandler(logging.StreamHandler())
        ours.setLevel(logging.INFO)
        ours.propagate = False


def _histograms(name: str, meaning: str, by_device: Mapping[str, _Histogram]) -> str:
    lines = [f"# HELP {name} {meaning}", f"# TYPE {name} histogram"]
    for device, found in sorted(by_device.items()):
        total = 0
        for bound, count in zip((*SECONDS, None), found.counts, strict=True):
            total += count
            le = "+Inf" if bound is None else f"{bound:g}"
            lines.append(f"{name}_bucket{_labels({'device': device, 'le': le})} {total}")
        lines += [f"{name}_sum{_labels({'device': device})} {found.sum:g}",
                  f"{name}_count{_labels({'device': device})} {total}"]  # fmt: skip
    return "\n".join(lines) + "\n"


def _labels(labels: Labels) -> str:
    if not labels:
        return ""
    quoted = (value.replace("\\", r"\\").replace('"', r"\"").replace("\n", r"\n") for value in labels.values())
    return "{" + ",".join(f'{name}="{value}"' for name, value in zip(labels, quoted, strict=True)) + "}"

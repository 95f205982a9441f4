"""The file of a recording, and its rows read back as Measurements.

A file belongs to one GPU. It holds, column by column, one row for each kernel x combination of blocks x parameter x n x
block size x element type x cache state x grid asked for: its status, median, interval and number of samples, and its
peers'. A file grows in sessions, and each row says in which it was measured: with which driver, on which day, at which
commit, and from which text of the kernel and of the modules that time. The file also lists the omitted choices with
reasons.
"""

from __future__ import annotations

import gzip
import hashlib
import json
import re
from collections.abc import Mapping, Sequence
from dataclasses import asdict, dataclass, field
from functools import cached_property, lru_cache
from pathlib import Path
from typing import Any

from engine.catalogue import KERNELS, TOPICS, Kernel
from engine.catalogue.libraries import operation_of
from engine.history.methods import method_of_peers, methods
from engine.machine.rates import peak_of, rates_of
from engine.plan import Key
from engine.records import CACHE_STATES, Measurement, Plan, Rates, Settled, Timing
from engine.records.json_text import read_json
from engine.records.shipped import shipped
from engine.records.words import cpu_named_in

FOLDER = shipped("recorded")
FORMAT = 2
NEEDS_GPU = "Recording needs a GPU that CUDA can use; `python -m engine doctor` says what is missing."
# The columns that say which choice a row belongs to: those of engine.plan.key.
KEY = ("kernel", "combine", "parameter", "n", "block_size", "dtype", "cache", "grid_asked")
COLUMNS = (*KEY, "session", "grid_size", "status", "reason", "time_us", "low_us", "high_us", "samples", "floor_us",
           "clock", "badges", "bytes_moved", "flops", "peer", "peer_us", "peer_low_us", "peer_high_us", "ratio",
           "ratio_low", "ratio_high", "more_peers")  # fmt: skip
PEER = ("peer_us", "peer_low_us", "peer_high_us", "ratio", "ratio_low", "ratio_high")  # what a row says of its peer
COMPILERS = ("driver", "nvrtc")  # versions that decide which instructions run

Row = dict[str, Any]
Rows = dict[Key, Row]


@dataclass(frozen=True)
class Session:
    """The common facts of one session's rows. `kernels`, `methods`: digests of the code that ran and that timed; a
    method that is not named is unknown."""

    environment: Mapping[str, Any]
    kernels: Mapping[str, str | None]
    methods: Mapping[str, str]


@dataclass(frozen=True)
class Recording:
    """A file's content. A row's "session" is its place in `sessions`; `left_out`: why -> how many choices."""

    device: Mapping[str, Any]
    sessions: tuple[Session, ...] = ()
    rows: Rows = field(default_factory=dict)
    left_out: Mapping[str, int] = field(default_factory=dict)


def this_session(environment: Mapping[str, Any]) -> Session:
    """Return a session with the code as it is now."""
    return Session(environment, {name: code_digest(kernel) for name, kernel in KERNELS.items()}, methods())


def still_holds(recording: Recording, key: Key, plan: Plan, now: Session) -> bool:
    """Return whether a new measurement would only repeat the row: same kernel code, method, driver, compiler
    and plan."""
    row = recording.rows.get(key)
    if row is None or row["status"] in ("refused", "compile-error"):
        return False
    then = recording.sessions[row["session"]]
    if then is now:
        return True
    if then.kernels.get(key[0]) != now.kernels[key[0]]:
        return False
    if any(then.environment.get(name) != now.environment.get(name) for name in COMPILERS):
        return False
    same_plan = (row["grid_size"], row["bytes_moved"], row["flops"]) == (plan.grid_size, plan.bytes_moved, plan.flops)
    if row["status"] == "ok" and not same_plan:
        return False
    commit = then.environment.get("commit")
    if not then.methods:  # a file from before methods were noted
        return commit is not None and commit == now.environment.get("commit")
    return all(then.methods.get(name) == now.methods[name] for name in methods_used(key, row))


def methods_used(key: Key, row: Row) -> list[str]:
    """Return the methods that a row depends on. In the first cache state a row is incomplete without its libraries."""
    if cpu_named_in(_badges(row)):
        return ["cpu"]
    method = method_of_peers(operation_of(key[0]))
    wanted = row.get("peer") or (method != "peers" and key[KEY.index("cache")] == CACHE_STATES[0])
    return ["gpu", *([method] if method and wanted and row["status"] == "ok" else [])]


def write(path: Path, recording: Recording) -> None:
    """Write a recording; sessions without rows are left out."""
    used = sorted({row["session"] for row in recording.rows.values()})
    place = {session: i for i, session in enumerate(used)}
    table = [
        dict(zip(KEY, key, strict=True)) | row | {"session": place[row["session"]]}
        for key, row in recording.rows.items()
    ]
    content = {
        "format": FORMAT,
        "device": recording.device,
        "sessions": [asdict(recording.sessions[session]) for session in used],
        "left_out": recording.left_out,
        "columns": {name: [_rounded(name, row.get(name)) for row in table] for name in COLUMNS},
    }
    write_compressed(path, content)


def file_of(gpu: str, folder: Path, suffix: str = "") -> Path:
    """Return the file of a GPU in `folder`: "NVIDIA H200" -> nvidia-h200.json.gz."""
    return folder / f"{re.sub(r'[^a-z0-9]+', '-', gpu.lower())}{suffix}.json.gz"


def write_compressed(path: Path, content: Mapping[str, Any]) -> None:
    """Write the recording, compressed; its folder is made if needed."""
    path.parent.mkdir(parents=True, exist_ok=True)
    text = json.dumps(content, separators=(",", ":"))
    path.write_bytes(gzip.compress(text.encode(), mtime=0))  # without a time stamp, so equal rows give an equal file


def read_compressed(path: Path) -> dict[str, Any]:
    """Read what `store` wrote."""
    content: dict[str, Any] = read_json(gzip.decompress(path.read_bytes()))
    return content


def _rounded(name: str, value: Any) -> Any:
    return round(value, 4 if name.startswith("ratio") else 3) if isinstance(value, float) else value


def read(path: Path) -> Recording:
    """Read a file, also one in the form before sessions. ValueError: a form of another program."""
    return recording_of(read_compressed(path), path.name)


def recording_of(content: dict[str, Any], file: str) -> Recording:
    """Return the recording that a file's content holds. ValueError: a form of another program."""
    if content["format"] not in (1, FORMAT):
        raise ValueError(f"{file} has format {content['format']}, this program reads {FORMAT}.")
    if content["format"] == 1:
        content = _from_first_form(content)
    sessions = tuple(Session(**session) for session in content["sessions"])
    columns = content["columns"]
    told = [name for name in columns if name not in KEY]
    keys, rest = zip(*map(columns.get, KEY), strict=True), zip(*map(columns.get, told), strict=True)
    rows: Rows = {key: dict(zip(told, values, strict=True)) for key, values in zip(keys, rest, strict=True)}
    return Recording(content["device"], sessions, rows, content["left_out"])


def _from_first_form(content: dict[str, Any]) -> dict[str, Any]:
    """Convert the first form: one session, and null for a parameter that was left to its kernel."""
    session = {"environment": content["environment"], "kernels": content["kernels"], "methods": {}}
    columns = dict(content["columns"])
    known = [KERNELS.get(name) for name in columns["kernel"]]
    columns["parameter"] = [
        kernel.value_of_parameter(value) if kernel else value
        for kernel, value in zip(known, columns["parameter"], strict=True)
    ]
    columns |= {"grid_asked": [None] * len(known), "session": [0] * len(known)}
    return {**content, "sessions": [session], "columns": columns}


@dataclass(frozen=True, eq=False)
class Entry:
    """A recorded run. Its Measurement is made on first use, because a page shows a few of tens of thousands.

    `row`: the row of `key` in `recording`; `code`: the digest of the kernel's present code; `record`: the name of the
    record, for its choice.
    """

    recording: Recording
    key: Key
    row: Row
    code: str | None
    record: str | None = None

    @cached_property
    def measurement(self) -> Measurement:
        """The run as a Measurement with origin "recorded"; the same object at every call.

        If the kernel's code has changed since, it carries the badge "recorded with an earlier version of this kernel".
        """
        recording, row = self.recording, self.row
        named = dict(zip(KEY, self.key, strict=True))
        kernel = KERNELS[named["kernel"]]
        session = recording.sessions[row["session"]]
        badges = _badges(row)
        if session.kernels.get(kernel.name) != self.code:
            badges += ("recorded with an earlier version of this kernel",)
        ran_on = cpu_named_in(badges)
        choice = Settled(grid_size=named.pop("grid_asked"), device="gpu", record=self.record, **named)
        metric = TOPICS[kernel.topic].metric
        peak = None if ran_on or not kernel.has_peak else peak_of(recording.device, metric, choice.dtype)
        return Measurement(
            choice,
            recording.device,
            row["status"],
            row["reason"],
            grid_size=row["grid_size"],
            timing=_timing(row),
            rates=_rates(row, metric, peak),
            badges=badges,
            environment={**session.environment, "samples": row["samples"], **({"cpu": ran_on} if ran_on else {})},
            origin="recorded",
        )


def files(folder: Path) -> list[Path]:
    """Return the recordings in a folder, one for each GPU: a quick one counts only until there is a full one."""
    paths = sorted(folder.glob("*.json.gz"))
    full = {path.name for path in paths if "-quick" not in path.name}
    return [path for path in paths if path.name in full or path.name.replace("-quick", "") not in full]


@lru_cache(maxsize=4)
def entries(folder: Path = FOLDER) -> tuple[Entry, ...]:
    """Return every recorded run of the present kernels, of all GPUs in the folder."""
    return tuple(entry for path in files(folder) for entry in entries_of(read(path)))


def entries_of(recording: Recording, record: str | None = None) -> tuple[Entry, ...]:
    """Return the runs of the present kernels in one recording. `record`: its name."""
    now = {name: code_digest(kernel) for name, kernel in KERNELS.items()}
    return tuple(
        Entry(recording, key, row, now[key[0]], record) for key, row in recording.rows.items() if key[0] in now
    )


def _badges(row: Row) -> tuple[str, ...]:
    return tuple(row["badges"].split(" · ")) if row.get("badges") else ()


def _timing(row: Row) -> Timing | None:
    """Return the median and its interval; the samples themselves are not kept."""
    if not row["time_us"]:
        return None
    ratios = {name: row[name] for name in ("ratio", "ratio_low", "ratio_high")}
    peers = {}
    if row["peer"] is not None:
        peers[row["peer"]] = _peer([row[name] for name in PEER])
    peers |= {name: _peer(told) for name, told in (row.get("more_peers") or {}).items()}
    times = {name: row[name] for name in ("time_us", "low_us", "high_us", "floor_us", "clock")}
    return Timing((), **times, **ratios, peers=peers)


def _peer(told: Sequence[float]) -> Timing:
    """Return a row's timing of a library, from the columns PEER."""
    time, low, high, ratio, ratio_low, ratio_high = told
    return Timing((), time, low, high, ratio=ratio, ratio_low=ratio_low, ratio_high=ratio_high)


def _rates(row: Row, metric: str, peak: float | None) -> Rates:
    if not row["time_us"]:
        return Rates()
    return rates_of(row["bytes_moved"], row["flops"], row["time_us"], metric, peak)


def code_digest(kernel: Kernel) -> str | None:
    """Return the digest of a kernel's code; None if it has no file."""
    return digest_of_code(kernel.text) if kernel.path.exists() else None


def digest_of_code(text: str) -> str:
    """Return a digest of a source without comments and spacing, as the compiler sees it."""
    code = re.sub(r"//[^\n]*|/\*.*?\*/", " ", text, flags=re.DOTALL)
    return hashlib.sha256(" ".join(code.split()).encode()).hexdigest()[:16]

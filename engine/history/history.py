"""Measurements kept and read back: what this machine measured, and what was recorded on a named GPU.

Live measurements are kept for the whole process, so that a reload of the page still shows them, and appended as JSON
lines to a file in the user's data folder, so that a restart does too. A kernel whose text has changed since is
another kernel, and what another version of this program measured is not shown as this version's.
"""

from __future__ import annotations

import hashlib
import json
import os
import threading
from collections import OrderedDict
from collections.abc import Mapping
from dataclasses import dataclass, fields, replace
from functools import lru_cache
from pathlib import Path
from typing import Any

from engine.catalogue import KERNELS, spelled_out
from engine.history.recordings import load
from engine.plan import strides
from engine.records import Choice, Measurement

KEPT = 20_000  # measurements in memory, and lines in the file after it was tidied
_ON_THE_CPU = "on the CPU: "  # how the badge of a rung on the CPU begins
_FAKE = '"name": "Test GPU"'  # in the rows that this program's tests once wrote into the user's own file
_LASTING = ("ok", "wrong", "hazard")  # what would come out the same another time; a crash or a timeout need not

_Key = tuple[Any, ...]
_lock = threading.Lock()
_live: OrderedDict[_Key, Measurement] = OrderedDict()
_read: set[Path] = set()


@dataclass(frozen=True)
class Known:
    """What is known about one choice: the last live run here, and the recorded run on a GPU."""

    live: Measurement | None = None
    recorded: Measurement | None = None

    @property
    def failed(self) -> Measurement | None:
        """The live run, if it did not end well: what its sentence says stands beside, or in place of, the numbers."""
        return self.live if self.live is not None and self.live.status != "ok" else None

    @property
    def timed(self) -> Measurement | None:
        """Where the times come from: the live run on a GPU, else the recorded one; None without a right answer.

        A hazard is a right answer that nothing guarantees: its time was measured, and keeps its place with a warning.
        """
        if self.failed is not None and self.failed.status != "hazard":
            return None
        if self.live is not None and self.live.time_us is not None:
            return self.live
        return self.recorded if self.recorded is not None and self.recorded.status == "ok" else None

    @property
    def counted(self) -> Measurement | None:
        """Where the counters come from: the live run, if it counted."""
        return self.live if self.live is not None and self.live.counters is not None else None


def known(choice: Choice) -> Known:
    """Everything known about `choice`, whose device must be settled ("gpu" or "emulator")."""
    return Known(latest(choice), recorded_for(choice))


def remember(choice: Choice, measurement: Measurement) -> None:
    """Keep `measurement` as the latest of `choice`, whose device must be settled."""
    _load()
    key = _key(choice)
    with _lock:
        _live[key] = measurement
        _live.move_to_end(key)
        while len(_live) > KEPT:
            _live.popitem(last=False)
        if measurement.status in _LASTING:
            # The counters of every source line would be most of the file, and the emulator counts them again at once.
            _append({"key": list(key), "measurement": to_json(replace(measurement, lines=()))})


def latest(choice: Choice) -> Measurement | None:
    """The last live measurement of `choice` on this machine, or None."""
    _load()
    with _lock:
        return _live.get(_key(choice))


def recorded_for(choice: Choice) -> Measurement | None:
    """The recorded run of `choice` on a GPU, or None where nobody recorded it (or it runs an edited source)."""
    if choice.source is not None or choice.kernel not in KERNELS:
        return None
    return _recorded().get((*_shape(choice), choice.cache, choice.grid_size))


def to_json(measurement: Measurement) -> dict[str, Any]:
    """Every field of the record, ready for json.dumps."""
    return {field.name: getattr(measurement, field.name) for field in fields(measurement)}


def from_json(record: Mapping[str, Any]) -> Measurement:
    """The record back from `to_json`'s form. Fields it does not name keep their defaults."""
    names = {field.name for field in fields(Measurement)}
    values: dict[str, Any] = {
        name: tuple(value) if isinstance(value, list) else value for name, value in record.items() if name in names
    }
    return Measurement(**values)


def device_line(measurement: Measurement) -> str:
    """Where a measurement comes from: "NVIDIA H200, recorded 2026-11-21", "NVIDIA H200, live", "emulator"; of a rung
    that runs on the CPU beside a GPU that CPU: "AMD EPYC 9554, one thread, live"."""
    if measurement.device.get("kind") != "gpu":
        return "emulator"
    name = _cpu(measurement) or measurement.device.get("name") or "GPU"
    return f"{name}, recorded {_date(measurement)}" if measurement.origin == "recorded" else f"{name}, live"


def ran_on_cpu(measurement: Measurement | None) -> bool:
    """Whether it is of a scalar rung, of which no GPU and no emulator counts anything."""
    return measurement is not None and any(badge.startswith(_ON_THE_CPU) for badge in measurement.badges)


def _cpu(measurement: Measurement) -> str | None:
    """The CPU that a scalar rung was timed on, as its badge names it: "AMD EPYC 9554, one thread"."""
    if measurement.device.get("kind") != "gpu":
        return None  # beside an emulator the badge has the time as well, and the answer is what counts
    found = (badge for badge in measurement.badges if badge.startswith(_ON_THE_CPU))
    return next((badge.removeprefix(_ON_THE_CPU) for badge in found), None)


def environment_line(measurement: Measurement) -> str:
    """The conditions of a measurement in one line: device, driver, CUDA, clocks, date, commit; what is unknown is left
    out."""
    has = {**measurement.device, **measurement.environment}
    words = [device_line(measurement)]
    cpu = _cpu(measurement)
    if cpu is not None:
        has = {"commit": has.get("commit"), "cpu_compiler": has.get("cpu_compiler")}
    elif measurement.device.get("kind") == "gpu":
        words.append(f"L2 cache {measurement.cache}")
    for name, form in (
        ("driver", "driver {}"),
        ("cuda", "CUDA {}"),
        ("cupy", "CuPy {}"),
        ("sm_clock_mhz", "{} MHz"),
        ("python", "Python {}"),
        ("cpu_compiler", "{}"),
        ("commit", "commit {:.7}"),
    ):
        if has.get(name):
            words.append(form.format(has[name]))
    words += [badge for badge in measurement.badges if cpu is None or not badge.startswith(_ON_THE_CPU)]
    if measurement.origin == "live" and _date(measurement):
        words.append(_date(measurement))
    return " · ".join(words)


def folder() -> Path:
    """The user's data folder for this program (XDG rules)."""
    base = os.environ.get("XDG_DATA_HOME") or str(Path.home() / ".local" / "share")
    return Path(base) / "kernel-ladder"


def _shape(choice: Choice) -> tuple[Any, ...]:
    named = spelled_out(choice)
    return (named.kernel, named.n, named.block_size, named.dtype, named.combine, named.parameter)


def _key(choice: Choice) -> _Key:
    if choice.device == "auto":
        raise ValueError('a measurement belongs to a device: settle "auto" first')
    # The emulator counts; the state of a cache does not change what it counts.
    cache = choice.cache if choice.device == "gpu" else None
    digest = _digest(choice.kernel, choice.source)
    return (*_shape(choice), choice.grid_size, cache, choice.device, digest, _version())


@lru_cache(maxsize=1)
def _version() -> str:
    """A digest of the engine's own text."""
    digest = hashlib.sha256()
    for path in sorted(Path(__file__).parents[1].rglob("*.py")):
        digest.update(path.read_bytes())
    return digest.hexdigest()[:16]


@lru_cache(maxsize=512)
def _digest(kernel: str, source: str | None) -> str:
    text = source if source is not None else KERNELS[kernel].text if kernel in KERNELS else ""
    return hashlib.sha256(text.encode()).hexdigest()[:16]


@lru_cache(maxsize=1)
def _recorded() -> dict[tuple[Any, ...], Measurement]:
    found: dict[tuple[Any, ...], Measurement] = {}
    for measurement in load():
        m = measurement
        asked = Choice(m.kernel, m.n, m.block_size, dtype=m.dtype, combine=m.combine, parameter=m.parameter)
        found[(*_shape(asked), m.cache, m.grid_asked)] = m
        if m.grid_asked is None and strides(KERNELS[m.kernel]):
            # Asked for, the grid that the kernel would choose itself is the same run.
            found.setdefault((*_shape(asked), m.cache, m.grid_size), m)
    return found


def _date(measurement: Measurement) -> str:
    return str(measurement.environment.get("utc") or "")[:10]


def _file() -> Path:
    return folder() / "history.jsonl"


def _load() -> None:
    """Read the file once a process; a line that cannot be read is left out, one that nothing measured is removed."""
    path = _file()
    with _lock:
        if path in _read:
            return
        _read.add(path)
        try:
            lines = path.read_text(encoding="utf-8").splitlines()
        except OSError:
            return
        kept = [line for line in lines if _FAKE not in line]
        for line in kept[-KEPT:]:
            try:
                record = json.loads(line)
                measurement = from_json(record["measurement"])
            except (ValueError, KeyError, TypeError, AttributeError):
                continue
            _live[tuple(record["key"])] = measurement
        if len(kept) < len(lines) or len(kept) > 2 * KEPT:
            _write("".join(f"{line}\n" for line in kept[-KEPT:]), "w")


def _append(record: Mapping[str, Any]) -> None:
    _write(json.dumps(record, default=str) + "\n", "a")


def _write(text: str, mode: str) -> None:
    """A full disk or a read-only home costs the history, never the page."""
    try:
        _file().parent.mkdir(parents=True, exist_ok=True)
        with _file().open(mode, encoding="utf-8") as file:
            file.write(text)
    except OSError:
        return


def forget() -> None:
    """Drop what this process remembers; the file stays. For tests, which have folders of their own."""
    with _lock:
        _live.clear()
        _read.clear()

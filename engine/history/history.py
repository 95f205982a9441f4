"""Measurements kept and read back: of this computer, and recorded on a named GPU.

A kernel with a changed text is another kernel. A measurement by another version of this program is not shown.
"""

from __future__ import annotations

import hashlib
import json
import threading
import time
from collections import OrderedDict
from collections.abc import Collection, Iterator
from dataclasses import dataclass, replace
from functools import lru_cache

from engine.catalogue import KERNELS
from engine.history.contract import flat, measurement_of
from engine.history.recordings import KEY
from engine.history.records import Record, record_of
from engine.machine.environment import ENGINE, program_version
from engine.plan import Key, key
from engine.records import Measurement, Settled
from engine.records.json_text import read_json
from engine.records.words import cpu_badge, size_text, sizes_text
from engine.store import database, measurements

IN_MEMORY = 2_000  # keys; a dropped record is read again in 0.1 ms
KEPT = 20_000  # measurements left in the file after pruning
FRESH_S = 0.1  # seconds for which writes of another process may stay unseen
TIDY = 1000  # the file is pruned after this many more measurements
LASTING = (
    "ok",
    "wrong",
    "hazard",
)  # statuses that a repeated run would give again; a crash or a timeout might not recur


class Live:
    """The last measurement of each key. Every method is thread-safe.

    A lookup costs about as much as one in a dictionary: writes of other processes are checked ten times a second, and a
    record is read when it is first needed.
    """

    def __init__(self) -> None:
        self._lock = threading.Lock()
        self._found: OrderedDict[Key, Measurement | None] = OrderedDict()  # None: looked up, and there is none
        # Held while this process writes or reads new rows, so it need not read its own rows.
        self._in_step = threading.Lock()
        self._own: set[int] = set()  # ids of rows that this process wrote after `_last`
        self._last: int | None = None  # the id up to which the file was read
        self._version = (0, 0)
        self._looked = 0.0

    def keep(self, key: Key, measurement: Measurement) -> None:
        """Keep `measurement` as the key's last."""
        if measurement.status not in LASTING:
            self._put(key, measurement)
            return
        whole = flat(measurement)
        texts = [json.dumps(part, default=str) for part in (key, whole | {"lines": []}, whole["lines"])]
        with self._in_step:
            self._put(key, measurement)
            written = measurements.add(*texts)
            self._own.add(written)
        if written % TIDY == 0:
            measurements.prune(keep=KEPT)

    def last(self, key: Key) -> Measurement | None:
        """Return the key's last measurement, or None."""
        self._follow()
        with self._lock:
            if key in self._found:
                self._found.move_to_end(key)
                return self._found[key]
        kept = _read(measurements.last_of(json.dumps(key)))
        with self._lock:
            if key in self._found:  # measured during the lookup
                return self._found[key]
        self._put(key, kept)
        return kept

    def _put(self, key: Key, measurement: Measurement | None) -> None:
        with self._lock:
            self._found[key] = measurement
            self._found.move_to_end(key)
            while len(self._found) > IN_MEMORY:
                self._found.popitem(last=False)

    def _follow(self) -> None:
        """Drop keys that another process has measured since; they are read again when needed."""
        if time.monotonic() - self._looked < FRESH_S or not self._in_step.acquire(blocking=False):
            return
        try:
            self._looked = time.monotonic()
            version = database.version()
            if self._last is None:
                self._last, self._version = measurements.last_id(), version
            if version == self._version:
                return
            if self._version[0] not in (0, version[0]):  # another file, or memory in its place: its ids differ
                self._last, self._own = 0, set()
            self._version = version
            for written, key in measurements.keys_since(self._last):
                self._last = written
                if written not in self._own:
                    with self._lock:
                        self._found.pop(tuple(json.loads(key)), None)
            self._own = {written for written in self._own if written > self._last}
        finally:
            self._in_step.release()


def _read(found: tuple[str, str | None] | None) -> Measurement | None:
    """Read the key's last record; None also if another version of this program wrote it."""
    if found is None:
        return None
    record, lines = found
    try:
        # An earlier version kept no lines.
        return measurement_of({**read_json(record), "lines": [] if lines is None else read_json(lines)})
    except (ValueError, KeyError, TypeError, AttributeError):
        return None


_N, _KERNEL, _PARAMETER = (KEY.index(name) for name in ("n", "kernel", "parameter"))

_live = Live()


@dataclass(frozen=True)
class Known:
    """The known runs of a choice: the last live run here, and the recorded run on a GPU."""

    live: Measurement | None = None
    recorded: Measurement | None = None

    @property
    def failed(self) -> Measurement | None:
        """The live run if it failed; its sentence is shown beside the recorded run."""
        return self.live if self.live is not None and self.live.status != "ok" else None

    @property
    def timed(self) -> Measurement | None:
        """The source of the times: the live run on a GPU, else the recorded one; None without a right answer.

        A hazard is a right answer without a guarantee: its time was measured, and is shown with a warning.
        """
        if self.live is not None and self.live.status in ("ok", "hazard") and self.live.time_us is not None:
            return self.live
        return self.recorded if self.recorded is not None and self.recorded.status == "ok" else None

    @property
    def shown(self) -> Measurement | None:
        """The run whose outcome is shown first: the live one, else the recorded one."""
        return self.live or self.recorded

    @property
    def beside(self) -> Measurement | None:
        """The recorded run whose outcome is shown beside the live one, because one of them failed: neither hides the
        other."""
        if self.live is None or self.recorded is None or self.live.status == self.recorded.status == "ok":
            return None
        return self.recorded

    @property
    def counted(self) -> Measurement | None:
        """The source of the counters: the live run, if it counted."""
        return self.live if self.live is not None and self.live.counters is not None else None


def look_up(choice: Settled) -> Known:
    """Return everything known about `choice`, whose device must be settled ("gpu" or "emulator")."""
    return Known(latest(choice), recorded_for(choice))


def remember(choice: Settled, measurement: Measurement) -> None:
    """Keep `measurement` as the latest of `choice`, whose device must be settled."""
    _live.keep(_key(choice), measurement)


def latest(choice: Settled) -> Measurement | None:
    """Return the last live measurement of `choice` on this computer, or None."""
    return _live.last(_key(choice))


def recorded_for(choice: Settled) -> Measurement | None:
    """Return the recorded run of `choice` in its record; None if it was not recorded there or has an edited source."""
    record = record_of(choice.record)
    if record is None or choice.source is not None or choice.kernel not in KERNELS:
        return None
    found = record.runs.get(key(choice))
    return found.measurement if found is not None else None


def recorded_sizes(choice: Settled) -> tuple[int, ...]:
    """Return every n at which the choice was recorded with a right answer, all else equal, in order."""
    record = record_of(choice.record)
    return _sizes(record).get(_without_n(key(choice)), ()) if record is not None else ()


def recorded_of(topic: str, record: str | None = None) -> frozenset[int]:
    """Return every n at which a kernel of the topic was recorded with a right answer, in this record or the first."""
    found = record_of(record)
    return _recorded_of(topic, found) if found is not None else frozenset()


@lru_cache(maxsize=64)
def _recorded_of(topic: str, record: Record) -> frozenset[int]:
    kernels = {name for name, kernel in KERNELS.items() if kernel.topic == topic}
    return frozenset(own[_N] for own in _right(record) if own[_KERNEL] in kernels)


def swept_n(kernels: Collection[str], record: str | None = None) -> int | None:
    """Return the least n at which the most values of these kernels' parameter were recorded, in this record or the
    first; None without records."""
    found: dict[int, set[object]] = {}
    shown = record_of(record)
    for own in _right(shown) if shown is not None else ():
        if own[_KERNEL] in kernels:
            found.setdefault(own[_N], set()).add(own[_PARAMETER])
    return min(found, key=lambda n: (-len(found[n]), n), default=None)


def not_recorded(choice: Settled) -> tuple[str, str]:
    """Return two sentences for a choice without a time: it has none, and which n have one."""
    sizes = sizes_text(recorded_sizes(choice))
    if sizes:
        return f"No run was recorded at N = {size_text(choice.n)}.", f"With these choices there are N = {sizes}."
    return "No run was recorded with these choices.", "Choose another block size, type or cache, or run on a GPU."


def device_line(measurement: Measurement) -> str:
    """Return the origin of a measurement: "NVIDIA H200, recorded 2026-11-21", "NVIDIA H200, live", "emulator".

    For a rung on the CPU beside a GPU it names the CPU: "AMD EPYC 9554, one thread, live".
    """
    name = device_name(measurement)
    if measurement.origin == "recorded":
        return f"{name}, recorded {date_of(measurement)}"
    return name if measurement.device.get("kind") != "gpu" else f"{name}, live"


def device_name(measurement: Measurement) -> str:
    """Return the device of a measurement: "NVIDIA H200", "AMD EPYC 9554, one thread", "emulator"."""
    if measurement.device.get("kind") != "gpu":
        return "emulator"
    return f"{measurement.cpu}, one thread" if measurement.cpu else str(measurement.device.get("name") or "GPU")


def environment_line(measurement: Measurement) -> str:
    """Return the conditions of a measurement in one line: device, driver, CUDA, clocks, date, commit, as far as
    known."""
    has = {**measurement.device, **measurement.environment}
    words = [device_line(measurement)]
    own = measurement.cpu if measurement.device.get("kind") == "gpu" else None
    if own is not None:
        has = {"commit": has.get("commit"), "cpu_compiler": has.get("cpu_compiler")}
    elif measurement.device.get("kind") == "gpu":
        words.append(f"L2 cache {measurement.choice.cache}")
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
    # The line begins with the CPU that the badge names.
    words += [badge for badge in measurement.badges if own is None or badge != cpu_badge(own)]
    if measurement.origin == "live" and date_of(measurement):
        words.append(date_of(measurement))
    return " · ".join(words)


def _key(choice: Settled) -> Key:
    # The emulator's counts do not depend on the state of a cache.
    same = choice if choice.device == "gpu" else replace(choice, cache="")
    device = f"{choice.device}:{choice.model}" if choice.model else choice.device
    return (*key(same), choice.schedule, device, _digest(choice.kernel, choice.source), program_version(ENGINE))


@lru_cache(maxsize=512)
def _digest(kernel: str, source: str | None) -> str:
    text = source if source is not None else KERNELS[kernel].text if kernel in KERNELS else ""
    return hashlib.sha256(text.encode()).hexdigest()[:16]


def _right(record: Record) -> Iterator[Key]:
    """Return the choices that were recorded with a right answer."""
    return (own for own, entry in record.runs.items() if entry.row["status"] == "ok")


@lru_cache(maxsize=4)
def _sizes(record: Record) -> dict[Key, tuple[int, ...]]:
    found: dict[Key, tuple[int, ...]] = {}
    for own in sorted(_right(record), key=lambda own: own[_N]):
        found[_without_n(own)] = (*found.get(_without_n(own), ()), own[_N])
    return found


def _without_n(own: Key) -> Key:
    return own[:_N] + own[_N + 1 :]


def date_of(measurement: Measurement) -> str:
    """Return the day of a measurement: "2026-11-21"; "" if it is unknown."""
    return str(measurement.environment.get("utc") or "")[:10]


def forget() -> None:
    """Forget this process's memory; the file stays. For tests, which have folders of their own."""
    global _live
    _live = Live()
    database.close()

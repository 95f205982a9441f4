"""What was measured on this computer, by any of its server processes: in memory, and kept over a restart.

A look costs a page what a look into a dictionary does: what others wrote meanwhile is asked for ten times a second, and
a record is read when somebody first wants it.
"""

from __future__ import annotations

import json
import threading
import time
from collections import OrderedDict

from engine.choices import Key
from engine.history.contract import flat, measurement_of
from engine.records import Measurement
from engine.store import database, measurements

IN_MEMORY = 2_000  # keys; a record that was dropped is read again in 0.1 ms
KEPT = 20_000  # measurements in the file after it was tidied
FRESH_S = 0.1  # how long what another process writes may go unseen
TIDY = 1000  # after so many measurements more, the file is brought back to its size
LASTING = ("ok", "wrong", "hazard")  # what would come out the same another time; a crash or a timeout need not


class Live:
    """The last measurement of each key. Every method may be called from any thread."""

    def __init__(self) -> None:
        self._lock = threading.Lock()
        self._found: OrderedDict[Key, Measurement | None] = OrderedDict()  # None: looked for, and there is none
        # Held while this process writes or looks through what was written: what it wrote itself it need not read.
        self._in_step = threading.Lock()
        self._own: set[int] = set()  # ids of what this process wrote, after `_last`
        self._last: int | None = None  # the id up to which the file was looked through
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
        """The key's last measurement, or None."""
        self._follow()
        with self._lock:
            if key in self._found:
                self._found.move_to_end(key)
                return self._found[key]
        kept = _read(measurements.last_of(json.dumps(key)))
        with self._lock:
            if key in self._found:  # measured while it was looked for
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
        """Drop what another process has measured since: it is read again when it is wanted."""
        if time.monotonic() - self._looked < FRESH_S or not self._in_step.acquire(blocking=False):
            return
        try:
            self._looked = time.monotonic()
            version = database.version()
            if self._last is None:
                self._last, self._version = measurements.last_id(), version
            if version == self._version:
                return
            if self._version[0] not in (0, version[0]):  # another file, or memory in its place: with ids of its own
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
    """None too where another version of this program wrote it."""
    if found is None:
        return None
    record, lines = found
    try:
        # An earlier version kept no lines.
        return measurement_of({**json.loads(record), "lines": [] if lines is None else json.loads(lines)})
    except (ValueError, KeyError, TypeError, AttributeError):
        return None

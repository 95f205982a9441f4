"""The records of this computer: each is one file of recorded runs, of one GPU.

`recorded/` holds the program's own. Visitors can add files; they lie in a folder beside the store. A file from outside
is checked value by value before it is used.
"""

from __future__ import annotations

import time
import zlib
from collections import Counter
from collections.abc import Callable, Mapping
from dataclasses import dataclass, field
from functools import lru_cache
from math import isfinite
from pathlib import Path
from typing import Any, get_args

from engine.catalogue import KERNELS
from engine.history.methods import methods
from engine.history.recordings import (
    COLUMNS,
    FOLDER,
    KEY,
    PEER,
    Entry,
    Recording,
    code_digest,
    entries_of,
    file_of,
    files,
    methods_used,
    read,
    recording_of,
)
from engine.plan import Key, strides
from engine.records import Status
from engine.records.files import written_whole
from engine.records.json_text import read_json
from engine.store import database

MOST_BYTES, MOST_UNPACKED, MOST_ROWS = 4 << 20, 64 << 20, 100_000  # of one added file
MOST_FILES = 8  # added files; each costs the server up to 100 MB of memory
FRESH_S = 0.1  # seconds for which a change by another process may stay unseen
LONGEST = 2_000  # characters of a text in an added file
_GRID, _KERNEL = KEY.index("grid_asked"), KEY.index("kernel")
_ENDING = ".json.gz"


class Refused(ValueError):
    """The file is not added; `str(error)` says why in one sentence."""


@dataclass(frozen=True, eq=False)
class Record:
    """The recorded runs of one GPU. `name`: in addresses; `title`: the GPU as its driver names it; `added`: by a
    visitor."""

    name: str
    title: str
    recording: Recording
    path: Path
    added: bool
    runs: Mapping[Key, Entry] = field(repr=False)


@dataclass(frozen=True)
class Summary:
    """The contents of a recording in numbers. `drivers`, `days`: of its sessions, in order; `earlier`: rows by kernel
    that ran with another text than today's; `unknown`: rows by kernel that this program lacks; `retimed`: rows that
    other timing functions measured."""

    gpu: str
    drivers: tuple[str, ...]
    days: tuple[str, ...]
    rows: int
    earlier: Mapping[str, int]
    unknown: Mapping[str, int]
    retimed: int


def records() -> Mapping[str, Record]:
    """Return every record by name: the program's own first, the fullest of them first of all. Pages show the first one
    unless another is chosen."""
    return _looked(database.folder(), int(time.monotonic() / FRESH_S))


@lru_cache(maxsize=1)
def _looked(store: Path, moment: int) -> Mapping[str, Record]:
    """Look at the folder of added files once a moment, for changes by any process."""
    folder = added_folder()
    try:
        changed = folder.stat().st_mtime_ns
    except OSError:
        changed = 0
    return _records(FOLDER, folder, changed)


def record_of(name: str | None) -> Record | None:
    """Return the record of this name, the first one for None; None if there is no such record."""
    known = records()
    return known.get(name) if name is not None else next(iter(known.values()), None)


def added_folder() -> Path:
    """Return the folder of the added files, which may not exist."""
    return database.folder() / "recorded"


@lru_cache(maxsize=2)
def _records(own: Path, added: Path, changed: int) -> Mapping[str, Record]:
    """`changed`: the time of the last change of `added`, by any process."""
    found = dict(_own(own))
    for path in files(added):
        try:
            recording = checked(path.read_bytes())
        except (OSError, Refused):  # changed by hand
            continue
        name, title = path.name.removesuffix(_ENDING), str(recording.device["name"])
        if any(record.title == title for record in found.values()):
            name, title = f"{name}-added", f"{title} (added)"
        found[name] = Record(name, title, recording, path, True, _runs(recording, name))
    return found


@lru_cache(maxsize=2)
def _own(folder: Path) -> Mapping[str, Record]:
    found = {}
    recordings = {path: read(path) for path in files(folder)}
    for path, recording in sorted(recordings.items(), key=lambda item: -len(item[1].rows)):
        name = path.name.removesuffix(_ENDING).removesuffix("-quick")
        title = str(recording.device["name"])
        found[name] = Record(name, title, recording, path, False, _runs(recording, name))
    return found


def _runs(recording: Recording, record: str) -> dict[Key, Entry]:
    found: dict[Key, Entry] = {}
    striding = {name for name, kernel in KERNELS.items() if strides(kernel)}
    for entry in entries_of(recording, record):
        found[entry.key] = entry
        if entry.key[_GRID] is None and entry.key[_KERNEL] in striding:
            # A grid that equals the kernel's own choice is the same run.
            found.setdefault((*entry.key[:_GRID], entry.row["grid_size"]), entry)
    return found


def add(data: bytes) -> Record:
    """Keep a file of recorded runs, and return its record. Refused."""
    recording = checked(data)
    gpu, folder = str(recording.device["name"]), added_folder()
    path = file_of(gpu, folder)
    if path.exists():
        raise Refused(f"Runs of {gpu} were added before: remove them first.")
    if len(files(folder)) >= MOST_FILES:
        raise Refused(f"{MOST_FILES} files are here already: remove one first.")
    try:
        folder.mkdir(mode=0o700, parents=True, exist_ok=True)
        with written_whole(path) as file:
            file.write(data)
    except OSError as error:
        raise Refused(f"The file cannot be kept in {folder}: {error.strerror}.") from None
    forget()
    return next(record for record in records().values() if record.path == path)


def remove(name: str) -> None:
    """Remove an added record, if it is there."""
    record = records().get(name)
    if record is not None and record.added:
        record.path.unlink(missing_ok=True)
        forget()


def forget() -> None:
    """Look at the added files again."""
    _looked.cache_clear()
    _records.cache_clear()


@lru_cache(maxsize=MOST_FILES)
def summary(record: Record) -> Summary:
    """Return what a record is, and how many of its rows belong to texts that have changed since."""
    recording, now = record.recording, methods()
    codes = {name: code_digest(kernel) for name, kernel in KERNELS.items()}
    earlier: Counter[str] = Counter()
    unknown: Counter[str] = Counter()
    retimed = 0
    for key, row in recording.rows.items():
        session, kernel = recording.sessions[row["session"]], key[_KERNEL]
        if kernel not in codes:
            unknown[kernel] += 1
            continue
        earlier[kernel] += session.kernels.get(kernel) != codes[kernel]
        retimed += any(session.methods.get(name) != now[name] for name in methods_used(key, row))
    said = [session.environment for session in recording.sessions]
    drivers, days = ({str(each.get(name) or "") for each in said} - {""} for name in ("driver", "utc"))
    return Summary(
        gpu=str(recording.device["name"]),
        drivers=tuple(sorted(drivers)),
        days=tuple(sorted({day[:10] for day in days})),
        rows=len(recording.rows),
        earlier=+earlier,
        unknown=unknown,
        retimed=retimed,
    )


_FOREIGN = "This is no file of recorded runs; `python -m engine record` makes one."
_BROKEN = "This file of recorded runs is broken"


def checked(data: bytes) -> Recording:
    """Return the recording in a file from outside. Refused: it is too large, broken, or something else."""
    if len(data) > MOST_BYTES:
        raise Refused(f"The file is too large: {len(data) / 2**20:.1f} MB, at most {MOST_BYTES >> 20} MB.")
    unpacking = zlib.decompressobj(wbits=31)
    try:
        text = unpacking.decompress(data, MOST_UNPACKED)
    except zlib.error:
        raise Refused(_FOREIGN) from None
    if not unpacking.eof:
        raise Refused("The file is too large when unpacked." if unpacking.unconsumed_tail else f"{_BROKEN}: cut off.")
    try:
        content = read_json(text)
    except ValueError:
        raise Refused(_FOREIGN) from None
    if not isinstance(content, dict) or not {"format", "device", "columns"} <= set(content):
        raise Refused(_FOREIGN)
    try:
        _check_columns(content["columns"])
        recording = recording_of(content, "The file")
        _check_device(recording)
    except Refused:
        raise
    except ValueError as another:  # another format; its sentence names both
        raise Refused(str(another)) from None
    except (KeyError, TypeError, AttributeError):
        raise Refused(f"{_BROKEN}: a part is missing.") from None
    return recording


def _text(value: Any) -> bool:
    return isinstance(value, str) and len(value) <= LONGEST


def _number(value: Any) -> bool:
    return type(value) in (int, float) and isfinite(value) and value >= 0


def _status(value: Any) -> bool:
    return value in get_args(Status)


def _peers(value: Any) -> bool:
    return all(
        _text(name) and isinstance(told, list) and len(told) == len(PEER) and all(v is None or _number(v) for v in told)
        for name, told in value.items()
    )


_ALWAYS = ("kernel", "combine", "n", "block_size", "dtype", "cache", "session", "status")  # columns without None
_LATER = ("badges", "more_peers", "grid_asked", "session")  # columns that the first files lack
# column -> the types of its values, and a check of each value
_KINDS: dict[str, tuple[set[type], Callable[[Any], bool]]] = {
    **dict.fromkeys(COLUMNS, ({int, float}, _number)),
    **dict.fromkeys(("kernel", "combine", "dtype", "cache", "reason", "clock", "badges", "peer"), ({str}, _text)),
    **dict.fromkeys(
        ("parameter", "n", "block_size", "grid_asked", "grid_size", "session", "samples"), ({int}, _number)
    ),
    "status": ({str}, _status),
    "more_peers": ({dict}, _peers),
}


def _check_columns(columns: Mapping[str, Any]) -> None:
    """Refused: a column is missing, shorter than another, or has a value of the wrong kind."""
    missing = [name for name in COLUMNS if name not in columns and name not in _LATER]
    if missing:
        raise Refused(f"{_BROKEN}: the column {missing[0]} is missing.")
    rows = len(columns["kernel"])
    if not 0 < rows <= MOST_ROWS:
        raise Refused(f"The file has {rows:,} rows; 1 to {MOST_ROWS:,} are read.")
    for name, values in columns.items():
        if name not in _KINDS or not isinstance(values, list) or len(values) != rows:
            raise Refused(f"{_BROKEN}: the column {name[:40]!r} does not fit.")
        types, fits = _KINDS[name]
        right = set(map(type, values)) <= (types if name in _ALWAYS else types | {type(None)})
        # most values are there many times
        if not right or not all(map(fits, filter(None, values) if dict in types else {*values} - {None})):
            raise Refused(f"{_BROKEN}: the column {name} has a value that does not belong there.")


def _check_device(recording: Recording) -> None:
    """Refused: the device is no GPU with a name, a session has a wrong form, or a timed row lacks its sizes."""
    device = recording.device
    name = device["name"]
    if device["kind"] != "gpu" or not _text(name) or not name.isprintable() or not 0 < len(name) <= 80:
        raise Refused(f"{_BROKEN}: it names no GPU.")
    if not any(letter.isascii() and letter.isalnum() for letter in name):
        raise Refused(f"{_BROKEN}: it names no GPU.")
    if not all(_text(value) or _number(value) or value is None for value in device.values()):
        raise Refused(f"{_BROKEN}: a fact about the GPU does not belong there.")
    if any(isinstance(device.get(key), str) for key in _MEASURES) or not _text(device.get("compute_capability", "")):
        raise Refused(f"{_BROKEN}: a fact about the GPU does not belong there.")
    for session in recording.sessions:
        told = (session.environment.get(key, "") for key in ("utc", "driver", "commit"))
        facts = (*session.kernels.values(), *session.methods.values(), *told)
        if not all(fact is None or _text(fact) for fact in facts):
            raise Refused(f"{_BROKEN}: a fact about a session does not belong there.")
    for row in recording.rows.values():
        lacks = row["time_us"] is not None and (
            not row["time_us"] or row["bytes_moved"] is None or row["flops"] is None
        )
        if row["session"] >= len(recording.sessions) or lacks:
            raise Refused(f"{_BROKEN}: a row lacks its session, its time or its sizes.")


_MEASURES = ("multiprocessors", "clock_max_mhz", "peak_bandwidth_gb_s", "peak_gflop_s", "read_ceiling_gb_s",
             "l2_bytes", "memory_bytes")  # fmt: skip

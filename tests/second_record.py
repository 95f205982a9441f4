"""A second file of recorded runs, made for tests from rows of the first: another GPU, other times."""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import replace
from pathlib import Path
from typing import Any

from engine.catalogue import LADDERS
from engine.history.recordings import Recording, write
from engine.history.records import record_of
from engine.plan import Key

GPU, NAME, SLOWER = "Test GPU 8 GB", "test-gpu-8-gb", 3.0
_TIMES = ("time_us", "low_us", "high_us", "peer_us", "peer_low_us", "peer_high_us")
_HARRIS = {rung.kernel for rung in LADDERS["harris"].rungs}


def of_harris(key: Key) -> bool:
    """Whether the row is of a rung of Harris's ladder, at the N and block size that it opens with."""
    ladder = LADDERS["harris"]
    return key[0] in _HARRIS and key[3:5] == (ladder.n, ladder.block_size)


def second_recording(wanted: Callable[[Key], bool] = of_harris, **session: Any) -> Recording:
    """Return a recording of the second GPU with the wanted rows, each `SLOWER` times as slow."""
    first = record_of(None)
    assert first is not None
    rows = {
        key: row | {name: row[name] and row[name] * SLOWER for name in _TIMES} | {"more_peers": None}
        for key, row in first.recording.rows.items()
        if wanted(key)
    }
    sessions = tuple(replace(each, **session) for each in first.recording.sessions)
    return Recording({**first.recording.device, "name": GPU}, sessions, rows)


def file(folder: Path, recording: Recording | None = None) -> bytes:
    """Return the bytes of a recording's file, by default the second one's; `folder` is for this."""
    path = folder / "second.json.gz"
    write(path, recording or second_recording())
    return path.read_bytes()

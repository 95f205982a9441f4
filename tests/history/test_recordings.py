"""What was recorded on a GPU is found as the choice that it was recorded for."""

from __future__ import annotations

from dataclasses import replace
from pathlib import Path

import pytest

from engine.history import history, records
from engine.history.recordings import COLUMNS, Entry, Recording, Session
from engine.history.records import Record
from engine.plan import key, settle
from engine.records import Choice, Settled


def entry(choice: Settled, **row: object) -> Entry:
    """A recorded run with a right answer, of a GPU of which nothing else is known."""
    plain = {"status": "ok", "session": 0, "bytes_moved": 1, "flops": 1}
    recording = Recording({"kind": "gpu"}, (Session({}, {}, {}),))
    return Entry(recording, key(choice), {**dict.fromkeys(COLUMNS), **plain, **row}, None)


def test_a_recorded_run_becomes_a_measurement_when_it_is_asked_for_and_stays_the_same_one() -> None:
    choice = settle(Choice("reduce_sequential", 1024, 256))
    run = entry(choice, grid_size=4, time_us=5.0)
    assert "measurement" not in vars(run)
    assert run.measurement is run.measurement and run.measurement.time_us == 5.0
    assert key(replace(choice, grid_size=None)) == run.key


def test_a_grid_that_was_asked_for_is_a_recorded_run_of_its_own(monkeypatch: pytest.MonkeyPatch) -> None:
    own = settle(Choice("reduce_warp_shuffle", 2**20, 256, device="gpu"))
    runs = (
        entry(own, grid_size=1056, time_us=5.0),
        entry(replace(own, grid_size=64), grid_size=64, time_us=9.0),
        entry(settle(Choice("reduce_sequential", 1024, 256)), grid_size=4, time_us=5.0),
        entry(settle(Choice("banks_strided", 1024, 256, parameter=32)), grid_size=4, time_us=5.0),
        entry(settle(Choice("banks_strided", 1024, 256, parameter=4)), grid_size=4, time_us=6.0),
    )
    monkeypatch.setattr("engine.history.records.entries_of", lambda recording, record: runs)
    only = Record("a", "A", runs[0].recording, Path(), False, records._runs(runs[0].recording, "a"))
    monkeypatch.setattr("engine.history.records.records", lambda: {"a": only})
    found = {grid: history.recorded_for(replace(own, grid_size=grid)) for grid in (None, 64, 1056, 32)}
    assert [m.time_us if m else None for m in found.values()] == [5.0, 9.0, 5.0, None]
    assert (
        history.recorded_for(settle(Choice("reduce_sequential", 1024, 256, grid_size=4))) is None
    )  # it cannot be chosen
    parameters = [
        history.recorded_for(settle(Choice("banks_strided", 1024, 256, parameter=value))) for value in (None, 32, 4, 5)
    ]
    assert [m.time_us if m else None for m in parameters] == [5.0, 5.0, 6.0, None]

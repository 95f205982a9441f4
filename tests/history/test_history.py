"""What was measured is found again: in the process, after a restart, and in a recording."""

from __future__ import annotations

import json
import sqlite3
from dataclasses import replace
from pathlib import Path
from typing import Any

import pytest

from engine.catalogue import KERNELS
from engine.history import history
from engine.history.contract import flat, measurement_of
from engine.history.history import Known
from engine.plan import settle
from engine.records import Choice, Measurement
from engine.service import service
from engine.store import database, measurements
from tests import made
from tests.made import ENVIRONMENT

CHOICE = settle(Choice("reduce_sequential", 4096, 128, device="gpu"))


def measured(choice: Choice = CHOICE, **changes: Any) -> Measurement:
    return made.measured(choice, **changes)


@pytest.fixture
def folder() -> Path:
    return database.folder()


def test_the_latest_measurement_of_a_choice_is_found() -> None:
    history.remember(CHOICE, measured(time_us=7.0))
    history.remember(CHOICE, measured(time_us=5.0))
    found = history.latest(CHOICE)
    assert found is not None and found.time_us == 5.0


@pytest.mark.parametrize(
    "change",
    [{"n": 8192}, {"block_size": 256}, {"dtype": "float32"}, {"cache": "hot"}, {"combine": "host"}, {"grid_size": 7},
     {"device": "emulator"}, {"kernel": "reduce_strided"}, {"source": "// another text"}],
)  # fmt: skip
def test_another_choice_has_its_own_measurements(change: dict[str, object]) -> None:
    history.remember(CHOICE, measured())
    assert history.latest(replace(CHOICE, **change)) is None  # type: ignore[arg-type]


def test_naming_the_default_way_to_combine_is_the_same_choice() -> None:
    history.remember(CHOICE, measured())
    assert history.latest(replace(CHOICE, combine=KERNELS[CHOICE.kernel].combines[0])) is not None


def test_the_cache_state_does_not_matter_to_the_emulator() -> None:
    emulated = replace(CHOICE, device="emulator")
    history.remember(emulated, measured(emulated, device={"kind": "emulator"}, time_us=None))
    assert history.latest(replace(emulated, cache="hot")) is not None


def test_a_restart_finds_the_earlier_measurements() -> None:
    history.remember(CHOICE, measured(counters={"barriers": 1.0}, lines=({"line": 3, "text": "x", "barriers": 1.0},)))
    history.forget()
    found = history.latest(CHOICE)
    assert found == measured(counters={"barriers": 1.0}, lines=({"line": 3, "text": "x", "barriers": 1.0},))


def test_measurements_of_an_earlier_version_lack_counters_of_lines() -> None:
    history.remember(replace(CHOICE, n=8192), measured())
    another_process_measures(CHOICE, measured(counters={"barriers": 1.0}, lines=({"line": 3, "text": "x"},)))
    assert history.latest(CHOICE) == measured(counters={"barriers": 1.0})


def test_a_crash_is_remembered_but_not_over_a_restart() -> None:
    history.remember(CHOICE, measured(status="crashed", reason="It crashed.", time_us=None))
    assert history.latest(CHOICE) is not None
    history.forget()
    assert history.latest(CHOICE) is None


def test_a_record_that_cannot_be_read_is_none() -> None:
    history.remember(CHOICE, measured())
    database.write(lambda connection: connection.execute("UPDATE measurements SET record = '[3]'"))
    history.forget()
    assert history.latest(CHOICE) is None


def another_process_measures(choice: Choice, measurement: Measurement) -> None:
    """What it would write, by a connection of its own."""
    row = (json.dumps(history._key(settle(choice))), "", json.dumps(flat(measurement), default=str))
    with sqlite3.connect(database.folder() / database.FILE) as connection:
        connection.execute("INSERT INTO measurements (key, utc, record) VALUES (?, ?, ?)", row)
    connection.close()


def test_measurements_of_other_processes_are_read_and_own_ones_are_not_read_again(
    monkeypatch: pytest.MonkeyPatch,
) -> None:
    monkeypatch.setattr(history, "FRESH_S", 0.0)
    other, third = replace(CHOICE, n=8192), replace(CHOICE, n=16384)
    history.remember(CHOICE, mine := measured(lines=({"line": 3, "text": "x", "barriers": 1.0},), counters={}))
    assert history.latest(other) is None
    another_process_measures(other, measured(other, time_us=3.0))
    assert history.latest(other) == measured(other, time_us=3.0)
    history.remember(third, measured(third))
    assert history.latest(CHOICE) is mine
    another_process_measures(CHOICE, measured(time_us=1.0))
    assert history.latest(CHOICE) == measured(time_us=1.0) and history.latest(third) is not None


def test_the_first_measurement_of_all_keeps_the_counters_of_its_lines(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(history, "FRESH_S", 0.0)
    assert history.latest(CHOICE) is None  # where there is no file yet
    history.remember(CHOICE, mine := measured(lines=({"line": 3, "text": "x", "barriers": 1.0},), counters={}))
    assert history.latest(CHOICE) is mine and history.latest(CHOICE) is mine


def test_a_look_does_not_ask_the_file(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(history, "FRESH_S", 1000.0)
    other = replace(CHOICE, n=8192)
    history.remember(CHOICE, measured())
    history.latest(CHOICE)
    history.latest(other)

    def never(*_: object) -> None:
        raise AssertionError

    monkeypatch.setattr(database, "read", never)
    monkeypatch.setattr(measurements, "read", never)
    assert history.latest(CHOICE) == measured() and history.latest(other) is None


def test_the_file_is_brought_back_to_its_size(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(history, "TIDY", 10)
    monkeypatch.setattr(history, "KEPT", 5)
    monkeypatch.setattr(history, "IN_MEMORY", 5)
    for n in range(1, 31):
        history.remember(replace(CHOICE, n=n), measured())
    assert measurements.count() == 5
    assert history.latest(replace(CHOICE, n=30)) is not None and history.latest(replace(CHOICE, n=1)) is None


def test_a_measurement_dropped_from_memory_is_read_again(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(history, "IN_MEMORY", 2)
    choices = [replace(CHOICE, n=n) for n in range(1, 6)]
    for choice in choices:
        history.remember(choice, measured(choice))
    assert [history.latest(choice) for choice in choices] == [measured(choice) for choice in choices]


def old_line(choice: Choice, measurement: Measurement) -> str:
    return json.dumps({"key": history._key(settle(choice)), "measurement": flat(measurement)}, default=str)


def test_the_file_of_before_there_was_a_database_is_read_in_once(folder: Path) -> None:
    other, fake = replace(CHOICE, n=8192), replace(CHOICE, n=16384)
    lines = [old_line(CHOICE, measured(time_us=9.0)), '{"key": 3}', "not json", "[" * 100_000,
             "[]", old_line(CHOICE, measured()),
             old_line(fake, measured(device={"kind": "gpu", "name": "Test GPU"})), old_line(other, measured(other)),
             '{"key": [1], "measu']  # fmt: skip
    folder.mkdir(parents=True)
    old = folder / "history.jsonl"
    old.write_text("\n".join(lines))
    assert history.latest(CHOICE) == measured() and history.latest(other) == measured(other)
    assert history.latest(fake) is None and measurements.count() == 3
    assert not old.exists() and (folder / "history.jsonl.imported").read_text() == "\n".join(lines)
    for text in (lines, [old_line(fake, measured())]):  # the same one put back counts once, another one is another
        old.write_text("\n".join(text))
        history.forget()
        assert history.latest(CHOICE) is not None
    assert history.latest(fake) is not None and measurements.count() == 4
    assert sorted(path.name for path in folder.glob("*imported*")) == [
        "history.jsonl.imported", "history.jsonl.imported-2", "history.jsonl.imported-3"
    ]  # fmt: skip


def test_a_folder_that_cannot_be_written_costs_only_the_file(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    (tmp_path / "file").write_text("")
    monkeypatch.setenv("XDG_DATA_HOME", str(tmp_path / "file"))
    history.remember(CHOICE, measured())
    assert history.latest(CHOICE) is not None


def test_a_measurement_survives_json() -> None:
    record = measured(peers={"CUB": {"time_us": 4.0}}, badges=("latency-bound",), counters={"barriers": 3.0})
    assert measurement_of(json.loads(json.dumps(flat(record)))) == record


def test_an_edited_source_has_no_recorded_run() -> None:
    assert history.recorded_for(replace(CHOICE, source="// mine")) is None
    assert history.recorded_for(replace(CHOICE, kernel="no_such_kernel")) is None


def test_a_live_time_stands_before_a_recorded_one_which_no_failure_replaces() -> None:
    recorded = measured(origin="recorded", time_us=6.0)
    emulated = measured(device={"kind": "emulator"}, time_us=None, counters={"barriers": 1.0})
    live, wrong = measured(), measured(status="wrong", time_us=None)
    assert Known(live, recorded).timed is live
    assert Known(emulated, recorded).timed is recorded
    assert Known(emulated, recorded).counted is emulated
    assert Known(wrong, recorded).timed is recorded
    assert Known(wrong, recorded).failed is Known(wrong, recorded).shown is wrong
    assert Known(wrong).timed is None
    assert Known(None, replace(recorded, status="wrong")).timed is None


def test_a_hazard_keeps_the_time_of_its_right_answer_and_its_sentence() -> None:
    recorded = measured(origin="recorded")
    hazard = measured(status="hazard", time_us=None, counters={"barriers": 1})
    assert Known(hazard, recorded).timed is recorded
    assert Known(hazard, recorded).failed is hazard


def test_the_environment_line_names_device_state_versions_and_date() -> None:
    line = history.environment_line(measured(badges=("throttled",)))
    assert line == (
        "NVIDIA H200, live · L2 cache cold-clean · driver 580.65 · CUDA 13.0 · commit 0123456 · throttled · 2026-11-21"
    )
    assert history.device_line(measured(origin="recorded")) == "NVIDIA H200, recorded 2026-11-21"
    assert history.device_line(measured(device={"kind": "emulator"})) == "emulator"


@pytest.mark.parametrize(
    ("plain", "named"),
    [
        (Choice("banks_strided", 1024, 256, device="emulator"), {"parameter": 32, "combine": "none"}),
        (Choice("reduce_sequential", 1024, 256, device="emulator"), {"combine": "relaunch"}),
    ],
)
def test_naming_a_default_is_the_same_choice(plain: Choice, named: dict[str, Any]) -> None:
    plain, named = settle(plain), settle(replace(plain, **named))
    history.remember(plain, measured(plain))
    assert history.latest(named) == measured(plain)
    assert service._key(plain) == service._key(named)
    assert service._key(plain) != service._key(replace(plain, n=1000))


def test_an_answer_comes_back_from_the_file() -> None:
    found = measured(
        result=1,
        expected=2,
        error=1,
        error_bound=0,
        answer=(1, None, 3),
        answer_count=9,
        answer_expected=(1, 2, 3),
        answer_off=(1,),
    )
    history.remember(CHOICE, found)
    history.forget()
    assert history.latest(CHOICE) == found


def test_a_rung_on_the_cpu_names_its_cpu_and_not_the_gpu_beside_it() -> None:
    badges = ("on the CPU: AMD EPYC 9554, one thread", "few samples")
    ran_on = {**ENVIRONMENT, "cpu": "AMD EPYC 9554"}
    recorded = measured(origin="recorded", badges=badges, environment=ran_on)
    assert history.device_line(recorded) == "AMD EPYC 9554, one thread, recorded 2026-11-21"
    line = history.environment_line(recorded)
    assert "H200" not in line and "L2 cache" not in line and "driver" not in line and "few samples" in line
    around = {**ran_on, "cpu_compiler": "g++ 14.2, -O2"}
    live = measured(badges=badges, environment=around)
    assert history.device_line(live) == "AMD EPYC 9554, one thread, live"
    assert "g++ 14.2, -O2" in history.environment_line(live)
    emulated = measured(badges=badges, device={"kind": "emulator"}, environment=ran_on)
    assert history.device_line(emulated) == "emulator"

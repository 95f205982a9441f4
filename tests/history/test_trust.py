"""A recording that somebody sends is judged: each fault is found and named, and the program's own records have none."""

from __future__ import annotations

import gzip
from collections.abc import Callable
from dataclasses import replace
from itertools import islice
from pathlib import Path
from typing import Any

import pytest

from engine.commands import main
from engine.history.recordings import FOLDER, KEY, Recording, files, read, write
from engine.history.trust import judged
from tests.sentences import says

Change = Callable[[Recording], Recording]


def sample() -> Recording:
    """One row in eighty of the shorter record, as somebody with that GPU would send it."""
    whole = read(min(files(FOLDER), key=lambda path: path.stat().st_size))
    return replace(whole, rows=dict(islice(whole.rows.items(), 0, None, 80)))


def rows_changed(change: Callable[[tuple[Any, ...], dict[str, Any]], dict[str, Any]]) -> Change:
    return lambda found: replace(found, rows={key: row | change(key, row) for key, row in found.rows.items()})


def environment_changed(**more: Any) -> Change:
    return lambda found: replace(
        found, sessions=tuple(replace(one, environment={**one.environment, **more}) for one in found.sessions)
    )


def cold(key: tuple[Any, ...]) -> bool:
    return str(key[KEY.index("cache")]).startswith("cold")


FAULTS: dict[str, tuple[Change, str]] = {
    "trust.name": (environment_changed(host="lab-3"), "private"),
    "trust.path": (environment_changed(cpu="/home/ada/cuda"), "private"),
    "trust.slowed": (environment_changed(throttle_reasons=["hot"]), "steady"),
    "trust.text": (lambda found: replace(found, sessions=tuple(replace(one, kernels={}) for one in found.sessions)),
                   "texts"),
    "trust.wrong": (rows_changed(lambda key, row: {"status": "wrong"} if row["status"] == "ok" else {}), "answers"),
    "trust.wide": (rows_changed(lambda key, row: {"high_us": 1.5 * row["time_us"]} if row["time_us"] else {}),
                   "steady"),
    "trust.too-fast": (rows_changed(lambda key, row: {"time_us": row["time_us"] / 1.2, "floor_us": 0.1}
                                    if cold(key) and row["time_us"] else {}), "possible"),
    "trust.too-slow": (rows_changed(lambda key, row: {name: row[name] * 3 for name in ("time_us", "low_us", "high_us")}
                                    if row["time_us"] else {}), "possible"),
    "trust.floor": (rows_changed(lambda key, row: {"floor_us": 1e9} if row["time_us"] else {}), "possible"),
    "trust.few": (lambda found: replace(found, rows=dict(islice(found.rows.items(), 20))), "steady"),
}  # fmt: skip


@pytest.mark.parametrize("key", FAULTS)
def test_a_fault_is_named(key: str, tmp_path: Path, capsys: pytest.CaptureFixture[str]) -> None:
    change, name = FAULTS[key]
    write(tmp_path / "some-gpu.json.gz", change(sample()))
    bad = [one for one in judged(tmp_path / "some-gpu.json.gz") if not one.good]
    assert name in [one.name for one in bad]
    assert says(key, *(one.sentence for one in bad))
    assert main(["record", "--check", str(tmp_path / "some-gpu.json.gz")]) == 1
    assert f"no  {name}" in capsys.readouterr().out


def test_a_part_of_a_record_passes(tmp_path: Path, capsys: pytest.CaptureFixture[str]) -> None:
    write(tmp_path / "some-gpu.json.gz", sample())
    assert [one for one in judged(tmp_path / "some-gpu.json.gz") if not one.good] == []
    assert main(["record", "--check", str(tmp_path / "some-gpu.json.gz")]) == 0
    assert "ok  possible" in capsys.readouterr().out


@pytest.mark.thorough
def test_the_program_s_own_records_pass() -> None:
    own = files(FOLDER)
    assert own and [one for path in own for one in judged(path) if not one.good] == []


UNREADABLE = {
    "empty": b"",
    "a text": b"no recording",
    "a wrong header": b"\x1f\x8b broken",
    "too deep": gzip.compress(b"[" * 100_000),
    "torn": gzip.compress(b"text" * 99)[:12] + b"\xff" * 20,
}


@pytest.mark.parametrize("content", UNREADABLE.values(), ids=UNREADABLE)
def test_what_is_no_recording_is_one_sentence(tmp_path: Path, content: bytes) -> None:
    (tmp_path / "x.json.gz").write_bytes(content)
    (one,) = judged(tmp_path / "x.json.gz")
    assert not one.good and says("trust.unreadable", one.sentence)

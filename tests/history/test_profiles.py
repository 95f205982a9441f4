"""The hardware's own counters: found for the same choice, and for no other."""

from __future__ import annotations

import json
from collections.abc import Callable, Iterator
from dataclasses import replace
from pathlib import Path

import pytest

from engine.catalogue import KERNELS
from engine.history import profiles
from engine.history.recordings import FOLDER
from engine.plan import settle
from engine.records import Choice

Record = Callable[..., None]


@pytest.fixture
def record(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> Iterator[Record]:
    """Make these rows all that was ever recorded."""
    file = tmp_path / "counters.json"

    def write(*rows: dict[str, object]) -> None:
        file.write_text(json.dumps({"device": "NVIDIA H200", "date": "2026-11-21", "kernels": rows}))
        profiles._hardware.cache_clear()

    with monkeypatch.context() as patch:
        patch.setattr(profiles, "recorded_files", lambda: (file,))
        yield write
    profiles._hardware.cache_clear()


def test_counters_of_a_profiler_lie_with_the_recordings() -> None:
    files = profiles.recorded_files()
    assert files and all(FOLDER in file.parents for file in files)
    assert profiles._hardware()


def test_hardware_counters_belong_to_a_value_of_the_parameter(record: Record) -> None:
    row = {"kernel": "banks_strided", "n": 4096, "block_size": 128, "dtype": "int32", "global_red_requests": 1,
           "global_atom_requests": 2, "shared_atomic_requests": 3}  # fmt: skip
    record({**row, "parameter": None, "branches": 1}, {**row, "parameter": 2, "branches": 2})
    own = KERNELS["banks_strided"].parameter
    assert own is not None
    choice = Choice("banks_strided", 4096, 128)
    found = [
        profiles.hardware_counters(settle(replace(choice, parameter=value))) for value in (None, own.default, 2, 3)
    ]
    assert [entry and entry.counters["branches"] for entry in found] == [1, 1, 2, None]
    assert found[0] is not None and found[0].counters["atomics"] == 6


def test_recorded_hardware_counters_are_those_of_the_same_choice(record: Record) -> None:
    record({"kernel": "reduce_strided", "n": 4096, "block_size": 128, "dtype": "int32", "shared_load_wavefronts": 5,
            "shared_load_conflicts": 3, "shared_store_conflicts": 1})  # fmt: skip
    choice = settle(Choice("reduce_strided", 4096, 128))
    found = profiles.hardware_counters(choice)
    assert found is not None and found.device == "NVIDIA H200" and found.counters["bank_conflicts"] == 4
    for other in (replace(choice, n=8192), replace(choice, combine="host"), replace(choice, dtype="float32")):
        assert profiles.hardware_counters(other) is None
    assert profiles.hardware_counters(replace(choice, combine="relaunch")) == found
    assert profiles.hardware_counters_by_size(replace(choice, n=8192)) == (found,)


def test_the_counters_of_a_ladder_are_all_of_one_size_that_most_have(record: Record) -> None:
    row = {"dtype": "int32", "branches": 1}
    record(
        {**row, "kernel": "reduce_strided", "n": 4096, "block_size": 128},
        {**row, "kernel": "reduce_strided", "n": 4096, "block_size": 1024},
        {**row, "kernel": "reduce_interleaved", "n": 4096, "block_size": 1024},
        {**row, "kernel": "reduce_interleaved", "n": 4096, "block_size": 128},
        {**row, "kernel": "reduce_strided", "n": 8192, "block_size": 128},
    )
    names = ("reduce_interleaved", "reduce_strided", "reduce_sequential")
    found = profiles.counters_beside([settle(Choice(name, 2**22, 128)) for name in names])
    assert [entry and (entry.n, entry.block_size) for entry in found] == [(4096, 128), (4096, 128), None]
    assert profiles.counters_beside([settle(Choice("reduce_sequential", 2**22, 128))]) == ()

"""Two files of recorded runs stay apart; a file from outside is checked, kept and removed."""

from __future__ import annotations

import gzip
import json
from collections.abc import Iterator
from dataclasses import replace
from pathlib import Path
from typing import Any

import pytest

from engine.catalogue import LADDERS, TOPICS
from engine.history import history, records, tables
from engine.history.records import MOST_BYTES, MOST_UNPACKED, Refused
from engine.plan import settle
from engine.records import Choice, Settled
from tests.second_record import GPU, NAME, SLOWER, file, of_harris, second_recording

HARRIS = LADDERS["harris"]
FIRST = "nvidia-h200"
OWN = [FIRST, "nvidia-h100-80gb-hbm3"]


@pytest.fixture(autouse=True)
def home(monkeypatch: pytest.MonkeyPatch, tmp_path: Path) -> Iterator[None]:
    monkeypatch.setenv("XDG_DATA_HOME", str(tmp_path / "data"))
    yield
    records.forget()


@pytest.fixture
def data(tmp_path: Path) -> bytes:
    return file(tmp_path)


def rungs(record: str | None) -> list[Settled]:
    asked = (Choice(rung.kernel, HARRIS.n, HARRIS.block_size, combine=rung.combine, device="gpu", record=record)
             for rung in HARRIS.rungs)  # fmt: skip
    return [settle(choice) for choice in asked]


def table(record: str | None) -> list[dict[str, Any]]:
    choices = rungs(record)
    return tables.ladder_table(HARRIS, choices, [history.look_up(choice) for choice in choices]).to_dict("records")


def test_two_files_never_mix_in_a_column_or_a_speedup(tmp_path: Path) -> None:
    before = table(None)
    half = {rung.kernel for rung in HARRIS.rungs[::2]}
    records.add(file(tmp_path, second_recording(lambda key: of_harris(key) and key[0] in half)))
    assert table(None) == table(FIRST) == before
    assert {row["gpu"] for row in before} == {"NVIDIA H200"}
    second = table(NAME)
    assert [row["gpu"] for row in second] == [GPU if rung.kernel in half else None for rung in HARRIS.rungs]
    assert all(row["step"] is None for row in second), "every rung lacks its neighbour"
    for ours, theirs in zip(second, before, strict=True):
        if ours["time_us"] is not None:
            assert ours["time_us"] == pytest.approx(SLOWER * theirs["time_us"], rel=1e-3)


def test_the_plots_lines_and_the_file_name_the_records_gpu(data: bytes) -> None:
    records.add(data)
    facts = {name: [history.look_up(choice) for choice in rungs(name)] for name in (FIRST, NAME)}
    for name, gpu in ((FIRST, "NVIDIA H200"), (NAME, GPU)):
        timed = [fact.timed for fact in facts[name] if fact.timed]
        assert {m.device["name"] for m in timed} == {gpu} and {m.choice.record for m in timed} == {name}
        csv = tables.frame_csv(tables.ladder_table(HARRIS, rungs(name), facts[name]))
        assert gpu in csv and "GPU" in csv.splitlines()[0].split(",")
    mixed = [*facts[FIRST][:5], *facts[NAME][5:]]
    assert tables.marks(TOPICS[HARRIS.topic], mixed) == {}


def test_sizes_belong_to_a_record(data: bytes) -> None:
    records.add(data)
    (first, *_), (second, *_) = rungs(None), rungs(NAME)
    assert history.recorded_sizes(second) == (HARRIS.n,) != history.recorded_sizes(first)
    assert history.recorded_of("reduction", NAME) == {HARRIS.n} < history.recorded_of("reduction")
    assert history.recorded_of("reduction", "none") == frozenset()
    assert history.recorded_for(replace(first, record="none")) is None


def test_an_added_file_says_what_it_is_outlives_the_server_and_can_be_removed(tmp_path: Path) -> None:
    texts = {**second_recording().sessions[-1].kernels, "reduce_sequential": "another text"}
    record = records.add(file(tmp_path, second_recording(kernels=texts, methods={"gpu": "older"})))
    said = records.summary(record)
    assert (said.gpu, said.rows) == (GPU, len(record.recording.rows)) and said.drivers and said.days
    assert said.earlier.keys() == {"reduce_sequential"} and not said.unknown and said.retimed == said.rows
    records.forget()  # as after a restart
    assert list(records.records()) == [*OWN, NAME] and records.records()[NAME].added
    with pytest.raises(Refused):
        records.add(file(tmp_path))  # the same GPU
    records.remove(FIRST)
    records.remove(NAME)
    assert list(records.records()) == OWN and records.record_of(NAME) is None


def test_another_file_of_the_programs_own_gpu_is_a_record_of_its_own(tmp_path: Path) -> None:
    same = second_recording()
    record = records.add(file(tmp_path, replace(same, device={**same.device, "name": "NVIDIA H200"})))
    assert (record.name, record.title) == (f"{FIRST}-added", "NVIDIA H200 (added)")
    assert table(FIRST)[0]["time_us"] < table(record.name)[0]["time_us"]


@pytest.mark.parametrize("change", [
    {"format": 99}, {"device": {"kind": "gpu"}}, {"device": {"kind": "gpu", "name": "\n"}}, {"device": []},
    {"device": {"kind": "gpu", "name": "A", "peak_bandwidth_gb_s": "many"}}, {"sessions": []}, {"columns": {}},
    {"columns": {"kernel": ["a"]}}, {"left_out": None, "sessions": None},
    {"time_us": "12"}, {"time_us": float("nan")}, {"time_us": -1.0}, {"time_us": 0.0}, {"n": 2.5}, {"n": True},
    {"kernel": None}, {"status": "fine"}, {"session": 10_000}, {"more_peers": {"a": [1]}}, {"badges": "x" * 9999},
    {"bytes_moved": None}, {"reason": ["a"]},
])  # fmt: skip
def test_a_broken_file_is_refused(data: bytes, change: dict[str, Any]) -> None:
    content = json.loads(gzip.decompress(data))
    for name, value in change.items():
        if name in content["columns"]:
            content["columns"][name][0] = value
        else:
            content[name] = value
    with pytest.raises(Refused):
        records.add(gzip.compress(json.dumps(content).encode()))
    assert not records.added_folder().exists()


def test_a_foreign_cut_or_too_large_file_is_refused(data: bytes) -> None:
    bomb = gzip.compress(bytes(MOST_UNPACKED + 1), 1)
    for odd in (b"", b"hello", gzip.compress(b"hello"), gzip.compress(b"[" * 99_999), data[:-20],
                bytes(MOST_BYTES + 1), bomb):  # fmt: skip
        with pytest.raises(Refused) as refused:
            records.checked(odd)
        assert str(refused.value).count(".") >= 1 and "\n" not in str(refused.value)

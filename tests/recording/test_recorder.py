import gzip
import json
from collections import Counter
from dataclasses import replace
from pathlib import Path
from types import SimpleNamespace

import pytest

from engine.catalogue import KERNELS, LADDERS, TOPICS
from engine.commands import record as recorder
from engine.commands.record import ELEMENT_SIZES, Item, contents, record
from engine.history import history, recordings
from engine.history.recordings import Recording, entries, read, still_holds, this_session, write
from engine.history.records import record_of
from engine.plan import key, plan, settle
from engine.records import CACHE_STATES, Choice, Measurement, NotRunnable, RunFailed
from tests.sentences import says

DEVICE = {"kind": "gpu", "name": "A GPU", "peak_bandwidth_gb_s": 1000.0, "peak_gflop_s": 5000.0}
AROUND = {"driver": "580.1", "commit": "abc", "utc": "2026-11-21T00:00:00+00:00"}
CHOICE = settle(Choice("reduce_sequential", 1024, 128, device="gpu"))
KEY = key(CHOICE)
PLAN = plan(CHOICE)
OK = {"session": 0, "grid_size": 8, "status": "ok", "time_us": 8.0, "low_us": 7.9, "high_us": 8.1, "samples": 40,
      "floor_us": 3.1, "clock": "event", "badges": "latency-bound", "bytes_moved": 4096, "flops": 1023, "peer": "CUB",
      "peer_us": 9.6, "peer_low_us": 9.5, "peer_high_us": 9.7, "ratio": 1.2, "ratio_low": 1.19,
      "ratio_high": 1.21}  # fmt: skip


def recording_of(rows=None, **changes) -> Recording:
    session = replace(this_session(AROUND), **changes)
    return Recording(DEVICE, (session,), {KEY: OK} if rows is None else rows)


def load(folder: Path) -> list[Measurement]:
    return [entry.measurement for entry in entries(folder)]


def test_a_written_recording_is_read_back(tmp_path):
    wrong = {"session": 0, "status": "wrong", "reason": "The answer was wrong."}
    rows = {KEY: OK, key(settle(Choice("reduce_racy", 1024, 128, cache="hot", device="gpu"))): wrong}
    write(tmp_path / "a-gpu.json.gz", replace(recording_of(rows), left_out={"too slow": 3}))
    assert read(tmp_path / "a-gpu.json.gz").left_out == {"too slow": 3}
    ok, racy = load(tmp_path)
    assert key(ok.choice) == KEY
    assert (ok.status, ok.origin, ok.time_us, ok.timing.low_us, ok.timing.high_us, ok.timing.clock) == (
        "ok",
        "recorded",
        8.0,
        7.9,
        8.1,
        "event",
    )
    assert ok.rates.bandwidth_gb_s == pytest.approx(0.512) and ok.rates.percent_of_peak == pytest.approx(0.0512)
    assert ok.peers["CUB"].ratio == 1.2 and ok.badges == ("latency-bound",)
    assert ok.device["name"] == "A GPU" and ok.environment["utc"] == AROUND["utc"] and ok.environment["samples"] == 40
    assert (racy.status, racy.time_us, racy.rates.bandwidth_gb_s, racy.peers) == ("wrong", None, None, {})


def test_the_same_rows_give_the_same_bytes(tmp_path):
    for name in ("a.json.gz", "b.json.gz"):
        write(tmp_path / name, recording_of())
    assert (tmp_path / "a.json.gz").read_bytes() == (tmp_path / "b.json.gz").read_bytes()


def test_a_kernel_that_has_changed_since_says_so(tmp_path):
    write(tmp_path / "a.json.gz", recording_of(kernels={KEY[0]: "older"}))
    assert says("recorded.earlier-kernel", *load(tmp_path)[0].badges)


def test_a_quick_recording_counts_only_until_there_is_a_full_one(tmp_path):
    write(tmp_path / "a-gpu-quick.json.gz", recording_of())
    assert len(load(tmp_path)) == 1
    recordings.entries.cache_clear()
    write(tmp_path / "a-gpu.json.gz", recording_of({KEY: OK | {"time_us": 7.0}}))
    assert [measurement.time_us for measurement in load(tmp_path)] == [7.0]


@pytest.mark.parametrize(
    ("changes", "row", "holds"),
    [
        ({}, {}, True),
        ({"environment": AROUND | {"commit": "def", "utc": "2027"}}, {}, True),
        ({"environment": AROUND | {"driver": "590"}}, {}, False),
        ({"kernels": {KEY[0]: "older"}}, {}, False),
        ({"methods": this_session(AROUND).methods | {"gpu": "older"}}, {}, False),
        ({"methods": this_session(AROUND).methods | {"peers": "older"}}, {}, False),
        ({"methods": this_session(AROUND).methods | {"peers": "older"}}, {"peer": None}, True),
        ({"methods": this_session(AROUND).methods | {"cpu": "older"}}, {}, True),
        (
            {"methods": this_session(AROUND).methods | {"cpu": "older"}},
            {"badges": "on the CPU: a CPU, one thread"},
            False,
        ),
        ({"methods": {}}, {}, True),
        ({"methods": {}, "environment": AROUND | {"commit": "def"}}, {}, False),
        ({}, {"grid_size": 4}, False),
        ({}, {"status": "refused"}, False),
        ({}, {"status": "wrong", "grid_size": None}, True),
    ],
)
def test_a_row_holds_while_the_code_the_timing_the_driver_and_the_plan_are_the_same(changes, row, holds):
    kept = recording_of({KEY: OK | row}, **changes)
    assert still_holds(kept, KEY, PLAN, this_session(AROUND)) == holds
    assert not still_holds(kept, key(replace(CHOICE, cache="hot")), PLAN, this_session(AROUND))


def test_a_row_of_an_operation_that_libraries_do_is_whole_with_one_beside_it():
    choice = settle(Choice("max_vectorized", 1024, 128, device="gpu"))
    made = plan(choice)
    row = OK | {"peer": None, "grid_size": made.grid_size, "bytes_moved": made.bytes_moved, "flops": made.flops}
    before = {name: code for name, code in this_session(AROUND).methods.items() if name != "libraries"}
    for cache, methods, holds in (("cold-clean", before, False), ("hot", before, True), ("cold-clean", None, True)):
        own = key(replace(choice, cache=cache))
        changes = {} if methods is None else {"methods": methods}
        assert still_holds(recording_of({own: row}, **changes), own, made, this_session(AROUND)) == holds


def test_more_peers_than_one_are_read_back(tmp_path):
    more = {"PyTorch": [12.0, 11.5, 12.5, 1.5, 1.4, 1.6]}
    write(tmp_path / "a.json.gz", recording_of({KEY: OK | {"more_peers": more}}))
    (ok,) = load(tmp_path)
    assert list(ok.peers) == ["CUB", "PyTorch"] and ok.timing.ratio == 1.2
    assert (ok.peers["PyTorch"].time_us, ok.peers["PyTorch"].ratio_high) == (12.0, 1.6)


def test_every_row_keeps_the_commit_and_the_day_of_its_session(tmp_path):
    old = replace(this_session(AROUND), environment=AROUND | {"commit": "old", "utc": "2026-01-01T00:00:00+00:00"})
    unused = replace(old, environment=AROUND | {"commit": "unused"})
    rows = {KEY: OK | {"session": 2}, key(replace(CHOICE, cache="hot")): OK | {"session": 0}}
    write(tmp_path / "a.json.gz", Recording(DEVICE, (old, unused, this_session(AROUND)), rows))
    cold, hot = load(tmp_path)
    assert (cold.environment["commit"], hot.environment["commit"]) == ("abc", "old")
    assert history.device_line(hot) == "A GPU, recorded 2026-01-01"
    assert len(read(tmp_path / "a.json.gz").sessions) == 2


def test_the_form_before_sessions_is_read(tmp_path):
    columns = {
        name: [value]
        for name, value in (dict(zip(recordings.KEY, KEY, strict=True)) | OK).items()
        if name not in ("grid_asked", "session")
    }
    columns |= {"kernel": ["banks_strided"], "parameter": [None], "combine": ["none"], "reason": [None]}
    content = {"format": 1, "device": DEVICE, "environment": AROUND, "left_out": {}, "kernels": {}, "columns": columns}
    (tmp_path / "a.json.gz").write_bytes(gzip.compress(json.dumps(content).encode()))
    (measurement,) = load(tmp_path)
    assert (measurement.choice.parameter, measurement.choice.grid_size, measurement.time_us) == (32, None, 8.0)
    assert measurement.environment["commit"] == "abc"


def test_every_kernel_block_size_size_and_parameter_is_contents():
    choices = [item.choice for item in contents()]
    by_kernel = {name: [choice for choice in choices if choice.kernel == name] for name in KERNELS}
    for kernel in KERNELS.values():
        own = by_kernel[kernel.name]
        assert {choice.block_size for choice in own} == set(kernel.block_sizes)
        assert {choice.n for choice in own} >= set(TOPICS[kernel.topic].sizes)
        assert {choice.dtype for choice in own} == set(kernel.dtypes)
        assert {choice.combine for choice in own} >= set(kernel.combines)
        if kernel.parameter:
            turned = Counter(choice.parameter for choice in own)
            assert all(turned[value] >= 2 for value in kernel.parameter.values)
        if TOPICS[kernel.topic].name == "reduction" and kernel.coverage is None:
            asked = {n: {choice.grid_size for choice in own if choice.n == n} - {None} for n in ELEMENT_SIZES}
            assert all(len(grids) > 12 for grids in asked.values())
    assert len({item.choice for item in contents(quick=True)}) <= 4 * len(KERNELS)


def test_the_default_choices_of_the_ladders_are_recorded_first():
    first = [item.choice for item in contents() if item.part == "the ladders"]
    assert [item.choice for item in contents()][: len(first)] == first
    for ladder in LADDERS.values():
        opened = {choice.kernel for choice in first if choice.n == ladder.n}
        assert all(rung.kernel in opened for rung in ladder.rungs if ladder.dtype in KERNELS[rung.kernel].dtypes)


def test_a_quick_recording_begins_with_the_ladders_and_is_small(tmp_path):
    items = list(contents(quick=True))
    first = [item.choice for item in items if item.part == "the ladders"]
    assert [item.choice for item in items][: len(first)] == first
    for ladder in LADDERS.values():
        opened = {choice.kernel for choice in first if choice.n == ladder.n}
        assert all(rung.kernel in opened for rung in ladder.rungs if ladder.dtype in KERNELS[rung.kernel].dtypes)
    known = record_of(None).recording
    rows = {own: known.rows[own] for own in {key(item.choice) for item in items} & known.rows.keys()}
    write(tmp_path / "a.json.gz", replace(known, rows=rows))
    assert (tmp_path / "a.json.gz").stat().st_size < 100_000, "of the megabyte that it may have"
    sampling_s = sum(row["samples"] * (row["time_us"] + (row["peer_us"] or 0)) / 1e6 for row in rows.values()
                     if row["time_us"])  # fmt: skip
    assert sampling_s < recorder.QUICK_BUDGET_S / 8, "on the recorded GPU"


@pytest.fixture
def gpu(monkeypatch):
    """A stand-in for the GPU that notes what it was asked to time: no time leaves this file."""
    timed = []

    def measured(made, caches, every_peer):
        timed.append((made.choice, caches))
        row = {"status": "ok", "grid_size": made.grid_size, "bytes_moved": made.bytes_moved, "flops": made.flops}
        return {cache: row | {"time_us": 5.0, "samples": 15} for cache in caches}

    monkeypatch.setattr(recorder, "has_gpu", lambda: True)
    monkeypatch.setattr(recorder, "backend_named", lambda kind: SimpleNamespace(describe=lambda: DEVICE))
    monkeypatch.setattr(recorder, "environment", lambda: AROUND)
    monkeypatch.setattr(recorder, "_measured", measured)
    monkeypatch.setattr(recorder, "contents", lambda quick: list(contents(quick))[:8])
    return timed


def test_a_recording_is_completed_and_not_repeated(gpu, monkeypatch, tmp_path):
    path = record(quick=True, folder=tmp_path)
    whole = len(gpu)
    assert whole and len(read(path).rows) == whole
    gpu.clear()
    monkeypatch.setattr(recorder, "environment", lambda: AROUND | {"commit": "def"})
    record(quick=True, folder=tmp_path)
    assert gpu == [] and len(read(path).sessions) == 1
    monkeypatch.setattr(recorder, "environment", lambda: AROUND | {"driver": "590"})
    record(quick=True, folder=tmp_path, budget_s=-1)  # no time: what there was stays
    assert len(read(path).rows) == whole
    record(quick=True, folder=tmp_path)
    assert len(gpu) == whole and len(read(path).sessions) == 1


@pytest.mark.parametrize(("quick", "most"), [(True, 120), (False, 600)])
def test_a_recording_on_a_slow_gpu_ends_in_time_and_says_so(gpu, monkeypatch, tmp_path, quick, most):
    now, measured = [0.0], recorder._measured

    def slowly(*asked):
        now[0] += 15.0
        return measured(*asked)

    monkeypatch.setattr(recorder, "_measured", slowly)
    monkeypatch.setattr(recorder, "monotonic", lambda: now[0])
    monkeypatch.setattr(recorder, "contents", lambda quick: list(contents(quick))[:60])
    path = record(quick=quick, folder=tmp_path)
    assert 0.8 * most < now[0] <= most and any("ran out" in why for why in read(path).left_out)


def test_a_rung_from_before_there_were_several_libraries_is_recorded_beside_all(gpu, monkeypatch, tmp_path):
    rungs = [Item(settle(Choice("reduce_sequential", 1024, 128, device="gpu")), "the ladders", every_peer=True)]
    monkeypatch.setattr(recorder, "contents", lambda quick: rungs)
    path = record(folder=tmp_path)
    assert len(gpu) == 1 and not gpu.clear()
    record(folder=tmp_path)
    assert gpu == []
    known = read(path)
    older = {name: code for name, code in known.sessions[0].methods.items() if name != "libraries"}
    write(path, replace(known, sessions=(replace(known.sessions[0], methods=older),)))
    record(folder=tmp_path)
    assert [caches for _, caches in gpu] == [("cold-clean",)], "the other states of the cache are shown beside one"


def test_a_run_that_fails_ends_the_recording_and_is_passed_by_the_next_time(gpu, monkeypatch, tmp_path):
    measured, broken = recorder._measured, []

    def failing(made, caches, every_peer):
        if not broken:
            broken.append(made.choice.kernel)
            raise RunFailed("crashed", "It wrote past the end.")
        return measured(made, caches, every_peer)

    monkeypatch.setattr(recorder, "_measured", failing)
    path = record(quick=True, folder=tmp_path)
    assert [row["status"] for row in read(path).rows.values()] == ["crashed"]
    assert any("failed: It wrote past the end." in why for why in read(path).left_out)
    record(quick=True, folder=tmp_path)
    statuses = Counter(row["status"] for row in read(path).rows.values())
    assert statuses["crashed"] == 1 and statuses["ok"] == len(gpu)


def test_a_rung_on_the_cpu_is_recorded_with_the_name_of_the_cpu():
    choice = Choice("trapezoid_scalar", 4096, KERNELS["trapezoid_scalar"].block_sizes[0], dtype="float64", device="gpu")
    rows = recorder._measured(plan(settle(choice)), CACHE_STATES, every_peer=False)
    assert set(rows) == set(CACHE_STATES)
    assert rows["hot"]["status"] == "ok" and rows["hot"]["badges"].startswith("on the CPU: ")
    assert rows["hot"].get("time_us") is None or rows["hot"]["clock"] == "host"


def test_nothing_was_recorded(tmp_path):
    assert load(tmp_path / "missing") == []


def test_recording_without_a_gpu_is_refused(monkeypatch, tmp_path):
    monkeypatch.setattr(recorder, "has_gpu", lambda: False)
    with pytest.raises(NotRunnable, match="needs a GPU"):
        record(folder=tmp_path)

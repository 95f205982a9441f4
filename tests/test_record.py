import gzip
import json

import pytest

from engine import record as recording
from engine import recorded
from engine.catalogue import KERNELS, TOPICS
from engine.plan import plan
from engine.record import _wanted, load, record
from engine.recorded import kept, write
from engine.records import CACHE_STATES, Choice, NotRunnable

DEVICE = {"kind": "gpu", "name": "A GPU", "peak_bandwidth_gb_s": 1000.0, "peak_gflop_s": 5000.0}
AROUND = {"driver": "580.1", "commit": "abc", "utc": "2026-11-21T00:00:00+00:00"}
OK = {"grid_size": 4, "status": "ok", "time_us": 8.0, "low_us": 7.9, "high_us": 8.1, "samples": 40, "floor_us": 3.1,
      "clock": "event", "badges": "latency-bound", "bytes_moved": 4096, "flops": 1023, "peer": "CUB", "peer_us": 9.6,
      "peer_low_us": 9.5, "peer_high_us": 9.7, "ratio": 1.2, "ratio_low": 1.19, "ratio_high": 1.21}  # fmt: skip
KEY = ("reduce_sequential", "relaunch", None, 1024, 128, "int32", "cold-clean")


def test_what_was_written_is_read_back(tmp_path):
    wrong = {"status": "wrong", "reason": "The answer was wrong."}
    rows = {KEY: OK, ("reduce_racy", "none", None, 1024, 128, "int32", "cold-clean"): wrong}
    write(tmp_path / "a-gpu.json.gz", DEVICE, AROUND, rows, {"too slow": 3})
    ok, racy = load(tmp_path)
    assert (ok.kernel, ok.combine, ok.parameter, ok.n, ok.block_size, ok.dtype, ok.cache) == KEY
    assert (ok.status, ok.origin, ok.time_us, ok.low_us, ok.high_us, ok.clock) == (
        "ok",
        "recorded",
        8.0,
        7.9,
        8.1,
        "event",
    )
    assert ok.bandwidth_gb_s == pytest.approx(0.512) and ok.percent_of_peak == pytest.approx(0.0512)
    assert ok.peers["CUB"]["ratio"] == 1.2 and ok.badges == ("latency-bound",)
    assert ok.device["name"] == "A GPU" and ok.environment["utc"] == AROUND["utc"] and ok.environment["samples"] == 40
    assert (racy.status, racy.time_us, racy.bandwidth_gb_s, racy.peers) == ("wrong", None, None, {})


def test_the_same_rows_give_the_same_bytes(tmp_path):
    for name in ("a.json.gz", "b.json.gz"):
        write(tmp_path / name, DEVICE, AROUND, {KEY: OK}, {})
    assert (tmp_path / "a.json.gz").read_bytes() == (tmp_path / "b.json.gz").read_bytes()


def test_a_kernel_that_has_changed_since_says_so(tmp_path):
    path = tmp_path / "a.json.gz"
    write(path, DEVICE, AROUND, {KEY: OK}, {})
    content = json.loads(gzip.decompress(path.read_bytes()))
    content["kernels"][KEY[0]] = "older"
    path.write_bytes(gzip.compress(json.dumps(content).encode()))
    assert "recorded with an earlier version of this kernel" in load(tmp_path)[0].badges


def test_a_quick_recording_counts_only_until_there_is_a_full_one(tmp_path):
    write(tmp_path / "a-gpu-quick.json.gz", DEVICE, AROUND, {KEY: OK}, {})
    assert len(load(tmp_path)) == 1
    recorded._load.cache_clear()
    write(tmp_path / "a-gpu.json.gz", DEVICE, AROUND, {KEY: OK | {"time_us": 7.0}}, {})
    assert [measurement.time_us for measurement in load(tmp_path)] == [7.0]


def test_a_broken_off_recording_of_the_same_commit_is_completed(tmp_path):
    path = tmp_path / "a.json.gz"
    write(path, DEVICE, AROUND, {KEY: OK}, {})
    assert set(kept(path, "abc")) == {KEY}
    assert kept(path, "def") == {} and kept(path, None) == {}


def test_every_kernel_block_size_and_size_is_wanted():
    wanted = [choice for _, choice in _wanted(quick=False)]
    for kernel in KERNELS.values():
        own = [choice for choice in wanted if choice.kernel == kernel.name]
        assert {choice.block_size for choice in own} == set(kernel.block_sizes)
        assert {choice.n for choice in own} >= set(TOPICS[kernel.topic].sizes)
        assert {choice.dtype for choice in own} == set(kernel.dtypes)
        assert {choice.combine for choice in own} == set(kernel.combines)
    assert all(part.caches == CACHE_STATES for part, choice in _wanted(quick=False) if choice.dtype == "int32")
    assert len(list(_wanted(quick=True))) <= 4 * len(KERNELS)


def test_a_rung_on_the_cpu_is_recorded_with_the_name_of_the_cpu():
    topic = TOPICS["trapezoid"]
    choice = Choice("trapezoid_scalar", 4096, KERNELS["trapezoid_scalar"].block_sizes[0], dtype="float64", device="gpu")
    rows = recording._measured(topic, plan(choice), CACHE_STATES)
    assert set(rows) == set(CACHE_STATES)
    assert rows["hot"]["status"] == "ok" and rows["hot"]["badges"].startswith("on the CPU: ")
    assert rows["hot"].get("time_us") is None or rows["hot"]["clock"] == "host"


def test_rows_of_an_edited_kernel_are_measured_again(tmp_path):
    path = tmp_path / "a.json.gz"
    write(path, DEVICE, AROUND, {KEY: OK}, {})
    content = json.loads(gzip.decompress(path.read_bytes()))
    content["kernels"][KEY[0]] = "older"
    path.write_bytes(gzip.compress(json.dumps(content).encode()))
    assert kept(path, "abc") == {}


def test_nothing_was_recorded(tmp_path):
    assert load(tmp_path / "missing") == []


def test_recording_without_a_gpu_is_refused(monkeypatch, tmp_path):
    monkeypatch.setattr(recording, "has_gpu", lambda: False)
    with pytest.raises(NotRunnable, match="needs a GPU"):
        record(folder=tmp_path)

"""The times are honest: cache states, peers, floor, and agreement with the plainest way to measure."""

import cupy
import pytest

pytestmark = pytest.mark.gpu


def prepared(kernel="reduce_last_block", n=2**22, block_size=256, **options):
    from engine.backends.gpu import launches
    from engine.catalogue.inputs import recipe_of
    from engine.plan import plan, settle
    from engine.records import Choice

    choice = settle(Choice(kernel, n, block_size, device="gpu", **options))
    return launches.prepare(plan(choice), recipe_of(choice))


def timed(cache="cold-clean", peers=(), **options):
    from engine.backends.timing.gpu import time_plan

    return time_plan(prepared(**options), cache, peers)


def test_hot_is_faster_than_clean_and_clean_than_dirty():
    hot, clean, dirty = (timed(cache).time_us for cache in ("hot", "cold-clean", "cold-dirty"))
    assert hot < clean < dirty


def test_every_sample_is_kept_and_the_median_lies_in_its_interval():
    timing = timed()
    assert 15 <= len(timing.times_us) <= 300
    assert timing.low_us <= timing.time_us <= timing.high_us
    assert timing.clock == "event" and timing.notes["path"] == "launch"


def test_cub_takes_turns_with_the_plan():
    timing = timed(peers=("CUB",))
    cub = timing.peers["CUB"]
    assert len(cub.times_us) == len(timing.times_us)
    assert timing.ratio_low <= timing.ratio <= timing.ratio_high
    assert timing.ratio == pytest.approx(cub.time_us / timing.time_us, rel=0.05)


def test_cublas_is_measured_or_its_absence_explained():
    timing = timed(kernel="matmul_tiled", n=1024, block_size=32, dtype="float32", peers=("cuBLAS",))
    assert "cuBLAS" in timing.peers or "cuBLAS" in timing.notes["peers_missing"]["cuBLAS"]


def test_the_floor_is_an_empty_launch():
    timing = timed(n=1024)
    assert 1 < timing.floor_us < 8
    assert timing.time_us > timing.floor_us and "latency-bound" in timing.badges


def test_several_launches_are_one_graph():
    timing = timed(kernel="reduce_sequential", block_size=128)
    assert timing.notes["path"] == "graph"
    assert timing.time_us < 60


def test_a_sum_that_ends_on_the_host_is_timed_by_the_host():
    on_host = timed(kernel="reduce_sequential", block_size=128, combine="host", peers=("CUB",))
    on_gpu = timed(kernel="reduce_sequential", block_size=128)
    assert on_host.clock == "host" and on_host.time_us > on_gpu.time_us
    assert on_host.peers["CUB"].clock == "host"


def test_the_clock_was_up():
    timing = timed(n=2**26)
    assert timing.notes["sm_clock_mhz"] == pytest.approx(timing.notes["sm_clock_max_mhz"], rel=0.25)


def test_a_plain_synchronised_event_measurement_agrees():
    """At 2^28 the launch that the plain way counts too is a hundredth of the time."""
    from engine.backends.gpu.memory import stream
    from engine.backends.timing import probes
    from engine.backends.timing.statistics import median

    plan = prepared(n=2**28)
    times = []
    for _ in range(30):
        stream().synchronize()
        probes.flush("cold-dirty")()
        begin, end = cupy.cuda.Event(), cupy.cuda.Event()
        begin.record(stream())
        plan.enqueue()
        end.record(stream())
        end.synchronize()
        times.append(1e3 * cupy.cuda.get_elapsed_time(begin, end))
    ours = timed("cold-dirty", n=2**28).time_us
    assert ours - 0.01 * ours <= median(times) <= 1.02 * ours + 8


def test_from_click_to_number_in_300_ms():
    from time import perf_counter

    from engine.records import Choice
    from tests.made import measure

    choice = Choice("reduce_sequential", 2**22, 128, device="gpu")
    measure(choice)
    started = perf_counter()
    measurement = measure(choice)
    assert measurement.status == "ok" and measurement.peers["CUB"].ratio
    assert perf_counter() - started < 0.3


def test_recording_writes_rows_that_load_back(tmp_path):
    from engine.commands.record import record
    from engine.history.recordings import entries

    path = record(quick=True, folder=tmp_path, budget_s=60)
    rows = [entry.measurement for entry in entries(tmp_path)]
    assert path.stat().st_size < 100_000
    assert {row.status for row in rows} <= {"ok", "wrong"} and any(row.peers for row in rows)
    assert all(row.origin == "recorded" and row.device["name"] for row in rows)

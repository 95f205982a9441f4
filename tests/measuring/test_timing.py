"""The rules of timing, with samples made up: no GPU needed."""

import numpy as np
import pytest

from engine.backends.timing import gpu, probes
from engine.records import Timing


class FakeClock:
    def start(self): ...

    def stop(self): ...

    def read(self): ...


class FakeStream:
    def synchronize(self): ...


@pytest.fixture
def sampled(monkeypatch):
    """`_sampled` on made-up times: sampled({"plan": [..], "peer": [..]}, budget_ms, max_samples)."""

    def call(times, budget_ms=120.0, max_samples=300):
        taken = dict.fromkeys(times, 0)
        order = []

        def batch(works, flush, delays, size):
            new = [[] for _ in works]
            for _ in range(size):
                for work, own in zip(works, new, strict=True):
                    own.append(times[work.name][taken[work.name] % len(times[work.name])])
                    taken[work.name] += 1
                    order.append(work.name)
            return new

        monkeypatch.setattr(gpu, "_event_batch", batch)
        monkeypatch.setattr(gpu, "_host_us", lambda work: 5.0)
        monkeypatch.setattr(gpu, "_flush_us", lambda cache: 30.0)
        monkeypatch.setattr(gpu, "stream", FakeStream)
        monkeypatch.setattr(probes, "flush", lambda cache: lambda: None)
        works = [gpu.Work(name, lambda: None) for name in times]
        samples, notes = gpu._sampled(works, "cold-clean", budget_ms, max_samples, FakeClock(), lambda *_: None)
        return samples, notes, order

    return call


def test_steady_samples_stop_early_but_not_before_15(sampled):
    samples, notes, _ = sampled({"plan": [900.0]})
    assert notes["stop"] == "precise" and 15 <= len(samples[0]) < 60


def test_noisy_samples_stop_at_the_most_that_is_allowed(sampled):
    noisy = np.random.default_rng(1).uniform(5, 15, 1000).tolist()
    samples, notes, _ = sampled({"plan": noisy}, max_samples=120)
    assert notes["stop"] == "samples" and len(samples[0]) == 120


def test_a_slow_kernel_gets_fewer_samples_down_to_three(sampled):
    assert len(sampled({"plan": [300e3, 400e3]}, budget_ms=0.001)[0][0]) == 3


def test_plan_and_peers_take_turns(sampled):
    samples, _, order = sampled({"plan": [10.0], "CUB": [12.0], "other": [11.0]})
    assert [len(own) for own in samples] == [len(samples[0])] * 3
    assert order[:6] == ["plan", "CUB", "other"] * 2


@pytest.mark.parametrize(
    ("host_us", "flush_us", "expected"), [(5, 30, 0), (19, 30, 0), (30, 30, 20_000), (5, 0, 15_000)]
)
def test_the_gpu_is_held_where_the_flush_is_shorter_than_the_host(host_us, flush_us, expected):
    delay = gpu._delay_ns(host_us, flush_us)
    assert delay == expected
    assert delay == 0 or delay / 1e3 + flush_us >= gpu.HOST_MARGIN * host_us


@pytest.mark.parametrize(
    ("times", "clock", "others", "badges"),
    [
        ([50.0] * 20, 1980, [], ()),
        ([50.0] * 20, 1800, [], ("throttled",)),
        ([50.0] * 20, None, [4711], ("GPU shared",)),
        ([40.0, 50.0, 60.0] * 10, 1980, [], ("noisy",)),
        ([5.0] * 20, 1980, [], ("latency-bound",)),
        ([50.0] * 3, 1980, [], ("few samples",)),
    ],
)
def test_badges(monkeypatch, times, clock, others, badges):
    monkeypatch.setattr(gpu, "foreign_processes", lambda: others)
    made = Timing(tuple(times), times[0], times[0], times[0])
    assert gpu._badges(made, {"sm_clock_mhz": clock, "sm_clock_max_mhz": 1980}) == badges

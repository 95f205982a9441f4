"""Which peak a rate is a part of."""

from __future__ import annotations

import pytest

from engine.history.recordings import FOLDER, file_of, read
from engine.machine.rates import peak_of, rates_of

H200 = read(file_of("NVIDIA H200", FOLDER)).device


def test_the_peak_of_arithmetic_is_that_of_the_type() -> None:
    # 132 multiprocessors at 1980 MHz: 128 FP32 or 64 FP64 multiply-adds a cycle each.
    assert peak_of(H200, "gflop_s", "float32") == pytest.approx(66_908.16)
    assert peak_of(H200, "gflop_s", "float64") == pytest.approx(33_454.08)
    assert peak_of(H200, "gflop_s", "int32") is None
    assert peak_of(H200 | {"compute_capability": "53"}, "gflop_s", "float64") is None


def test_the_peak_of_memory_is_the_same_for_every_type() -> None:
    peaks = {peak_of(H200, "bandwidth_gb_s", dtype) for dtype in ("int32", "float32", "float64")}
    assert peaks == {H200["peak_bandwidth_gb_s"]}


def test_a_rate_is_a_part_of_its_peak() -> None:
    rates = rates_of(8e6, 2e6, 1000.0, "gflop_s", 4.0)
    assert (rates.bandwidth_gb_s, rates.gflop_s, rates.percent_of_peak) == (8.0, 2.0, 50.0)

"""A time as a rate, and as a part of what the device can do at most: the one place that decides which peak counts."""

from __future__ import annotations

from collections.abc import Mapping
from typing import Any

from engine.records import Rates

_PEAKS = {"bandwidth_gb_s": "peak_bandwidth_gb_s", "gflop_s": "peak_gflop_s"}


def peak_of(device: Mapping[str, Any], metric: str, dtype: str) -> float | None:
    """The device's peak in the metric's unit, GB/s or GFLOP/s; None where it is not known.

    The peak of arithmetic is that of the FP32 units, and says nothing of other types.
    """
    if metric == "gflop_s" and dtype != "float32":
        return None
    return device.get(_PEAKS[metric])


def rates_of(bytes_moved: float, flops: float, time_us: float, metric: str, peak: float | None) -> Rates:
    """GB/s and GFLOP/s of a time in microseconds, and the metric's percentage of `peak`, where there is one."""
    bandwidth, gflops = bytes_moved / time_us / 1e3, flops / time_us / 1e3
    reached = bandwidth if metric == "bandwidth_gb_s" else gflops
    return Rates(bandwidth, gflops, 100 * reached / peak if peak else None)

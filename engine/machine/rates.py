"""Rates and percentages of peak. This module alone decides which peak counts."""

from __future__ import annotations

from collections.abc import Mapping
from typing import Any

from engine.records import Rates

# FP32 multiply-adds per multiprocessor and cycle, by compute capability: CUDA programming guide, "Throughput of native
# arithmetic instructions"; 128 for capabilities that are not listed.
_FP32_LANES = {"60": 64, "70": 64, "72": 64, "75": 64, "80": 64}
# The same for bfloat16 matrices with float sums on the tensor cores, from NVIDIA's architecture papers.
_BFLOAT16_LANES = {"80": 1024, "86": 256, "89": 256, "90": 2048}
_FP64_LANES = {
    "60": 32,
    "61": 4,
    "62": 4,
    "70": 32,
    "75": 2,
    "80": 32,
    "86": 2,
    "87": 2,
    "89": 2,
    "90": 64,
    "100": 64,
    "120": 2,
}


def fp32_lanes(capability: str) -> int:
    """Return the FP32 multiply-adds of a multiprocessor of this compute capability ("90") in a cycle."""
    return _FP32_LANES.get(capability, 128)


def peak_of(device: Mapping[str, Any], metric: str, dtype: str) -> float | None:
    """Return the device's peak in the metric's unit, GB/s or GFLOP/s of this type; None if unknown."""
    if metric == "bandwidth_gb_s":
        return device.get("peak_bandwidth_gb_s")
    if dtype == "float32":
        return device.get("peak_gflop_s")
    known = {"float64": _FP64_LANES, "bfloat16": _BFLOAT16_LANES}.get(dtype, {})
    lanes = known.get(device.get("compute_capability", ""))
    if lanes is None:
        return None
    return arithmetic_peak(device["multiprocessors"], lanes, device["clock_max_mhz"])


def arithmetic_peak(multiprocessors: int, lanes: int, megahertz: float) -> float:
    """Return the GFLOP/s of so many multiply-adds per cycle and multiprocessor; each counts as two operations."""
    return multiprocessors * lanes * 2 * megahertz / 1e3


def rates_of(bytes_moved: float, flops: float, time_us: float, metric: str, peak: float | None) -> Rates:
    """Return GB/s and GFLOP/s of a time in microseconds, and the metric's percentage of `peak` if there is one."""
    bandwidth, gflops = bytes_moved / time_us / 1e3, flops / time_us / 1e3
    reached = bandwidth if metric == "bandwidth_gb_s" else gflops
    return Rates(bandwidth, gflops, 100 * reached / peak if peak else None)

"""The GPU as a backend. It runs and times; only a profiler can count inside it."""

from __future__ import annotations

from collections.abc import Mapping
from functools import lru_cache
from typing import Any

import cupy
from cupy_backends.cuda.api import runtime

from engine.backends.gpu import launches
from engine.backends.gpu.memory import fill, stream
from engine.backends.timing import gpu, probes
from engine.catalogue import recipe_of
from engine.catalogue.libraries import peers_named
from engine.machine.rates import arithmetic_peak, fp32_lanes
from engine.records import Plan, Progress, Run, Timing

MEMORY_CLOCK_KHZ, BUS_WIDTH_BITS = 36, 37  # cudaDeviceAttr


@lru_cache(maxsize=1)
def describe() -> dict[str, Any]:
    """Return {kind, name, compute capability, multiprocessors, memory, clock, peaks in GB/s and GFLOP/s}, asked
    once."""
    number = runtime.getDevice()
    properties = runtime.getDeviceProperties(number)
    capability = cupy.cuda.Device(number).compute_capability
    sms, clock = properties["multiProcessorCount"], probes.max_megahertz()
    lanes = fp32_lanes(capability)
    peak, source = _peak_bandwidth(number)
    return {
        "kind": "gpu",
        "name": properties["name"].decode(),
        "compute_capability": capability,
        "multiprocessors": sms,
        "l2_bytes": probes.attribute(probes.L2_BYTES),
        "memory_bytes": properties["totalGlobalMem"],
        "clock_max_mhz": clock,
        "peak_bandwidth_gb_s": peak,
        "peak_bandwidth_source": source,
        "read_ceiling_gb_s": round(probes.read_ceiling_gb_s(), 1),
        "peak_gflop_s": arithmetic_peak(sms, lanes, clock),
        "peak_gflop_source": f"{sms} multiprocessors x {lanes} FP32 multiply-adds x {clock:.0f} MHz",
    }


def _peak_bandwidth(number: int) -> tuple[float | None, str | None]:
    """Return the bytes that the memory bus can carry: two transfers per memory clock."""
    clock_khz = runtime.deviceGetAttribute(MEMORY_CLOCK_KHZ, number)
    bits = runtime.deviceGetAttribute(BUS_WIDTH_BITS, number)
    if not clock_khz or not bits:
        return None, None
    return 2 * clock_khz * bits / 8 / 1e6, f"2 x {clock_khz / 1e3:.0f} MHz x {bits} bits / 8 (device attributes)"


class Gpu:
    """The GPU of this process and its one stream."""

    times, counts, traces, ordered = True, False, False, False

    def describe(self) -> Mapping[str, Any]:
        """{kind, name, limits, peaks}."""
        return describe()

    def run(self, plan: Plan, progress: Progress) -> Run:
        """Compile, feed, launch, read back. NotRunnable, CompileError or RunFailed."""
        return launches.run(plan, recipe_of(plan.choice), progress)

    def time(self, plan: Plan, progress: Progress) -> Timing:
        """Return median and samples in microseconds, in the choice's L2 state, beside the libraries that do the same
        work."""
        prepared = launches.prepare(plan, recipe_of(plan.choice))
        with stream():
            fill(plan, prepared.arrays)  # tickets and slots are zero before the first launch; each launch resets them
        return gpu.time_plan(prepared, plan.choice.cache, peers_named(plan.choice.kernel), progress)

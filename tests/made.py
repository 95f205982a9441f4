"""Measurements made for tests, by the names of the contract; and real measurements of a choice."""

from __future__ import annotations

from collections.abc import Iterable
from dataclasses import replace
from typing import Any

from engine.backends import measure as measuring
from engine.backends.emulator.watching.trace import Trace
from engine.history.contract import flat, measurement_of
from engine.history.recordings import entries
from engine.picture import picture
from engine.plan import settle
from engine.records import Choice, Measurement

GPU = {"kind": "gpu", "name": "NVIDIA H200", "peak_bandwidth_gb_s": 4800.0}
ENVIRONMENT = {"driver": "580.65", "cuda": "13.0", "utc": "2026-11-21T04:00:00+00:00", "commit": "0123456789ab"}
TIMES = {"time_us": 5.0, "times_us": (4.9, 5.0, 5.1), "low_us": 4.9, "high_us": 5.1, "bandwidth_gb_s": 3.3}


def measured(choice: Choice, **changes: Any) -> Measurement:
    """Return a measurement of `choice` on a GPU, 5 us, with these fields of the contract replaced; time_us=None: not
    timed."""
    plain = flat(Measurement(settle(choice), GPU, "ok", grid_size=32, environment=ENVIRONMENT))
    return measurement_of({**plain, **TIMES, **changes})


def measure(choice: Choice, schedule: str | None = None) -> Measurement:
    """Settle the choice, run it in this process and check it."""
    return measuring.measure(settle(replace(choice, schedule=schedule or choice.schedule)))


def trace(choice: Choice, block: int = 0, launch: int = 1, schedule: str | None = None) -> Trace:
    """Return the trace of one block of the choice on the emulator."""
    return picture.trace(settle(replace(choice, device="emulator", schedule=schedule)), block, launch=launch)


def recorded_kernels(choices: Iterable[Choice]) -> bool:
    """Return whether a recording has all kernels that run on a GPU; a new kernel is recorded later."""
    known = {entry.key[0] for entry in entries()}
    return all(choice.kernel in known for choice in choices if choice.device == "gpu")

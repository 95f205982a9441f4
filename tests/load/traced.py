"""A measurement that leaves a trace of each time that a worker began it."""

from __future__ import annotations

from engine.backends import measure as measuring
from engine.records import Measurement, Settled
from tests.service.misbehaving import mark

TRACE = "trace"  # beside the folder of the store


def measure(choice: Settled, trace: str) -> Measurement:
    """`measure`, and a line with its n in the file `trace`."""
    mark(trace, str(choice.n))
    return measuring.measure(choice)

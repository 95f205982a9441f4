"""A measurement that adds a line to a file each time that a worker begins it."""

from __future__ import annotations

from engine.backends import measure as measuring
from engine.records import Measurement, Settled
from tests.service.misbehaving import mark

TRACE = "trace"  # beside the folder of the store


def measure(choice: Settled, trace: str) -> Measurement:
    """Add a line with n to the file `trace`, then measure."""
    mark(trace, str(choice.n))
    return measuring.measure(choice)

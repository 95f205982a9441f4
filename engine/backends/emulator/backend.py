"""The emulator as a backend: it runs, counts and traces, and has no times."""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import replace
from typing import Any

from engine.backends.emulator import launch
from engine.backends.emulator.state.schedule import parse_schedule, schedule_line
from engine.catalogue import inputs_of
from engine.records import Plan, Progress, Run

SECONDS = 30.0  # of processor time, below the worker's deadline, because the emulator can name the line
DEVICE = {"kind": "emulator", "name": "SIMT emulator (PTX)"}


class Emulator:
    """The SIMT emulator of the compiled PTX."""

    times, counts, traces, ordered = False, True, True, True

    def describe(self) -> Mapping[str, Any]:
        """{kind, name}."""
        return DEVICE

    def run(self, plan: Plan, progress: Progress) -> Run:
        """Execute a plan in the order of the choice's schedule, with all counters and hazard checks."""
        asked = plan.choice.schedule
        order = parse_schedule(asked)
        progress(0.0, "Preparing the numbers")
        run = launch.run(plan, inputs_of(plan.choice), progress=progress, schedule=order, seconds=SECONDS)
        if asked is None:
            return run
        return replace(run, badges=(f"schedule: {schedule_line(order)}",), notes={"schedule": asked})

    def time(self, plan: Plan, progress: Progress) -> None:
        """Return None: the emulator has no times."""

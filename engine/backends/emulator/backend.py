"""The emulator as a backend: it runs, counts and traces. Its own time says nothing of a GPU's."""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import replace
from typing import Any

from engine.backends.emulator import launch
from engine.backends.emulator.state.schedule import parse_schedule, schedule_line
from engine.catalogue import inputs_of
from engine.records import Plan, Progress, Run

SECONDS = 30.0  # it gives up before the worker's deadline, as it can name the line
DEVICE = {"kind": "emulator", "name": "SIMT emulator (PTX)"}


class Emulator:
    """The SIMT emulator of the compiled PTX."""

    times, counts, traces, ordered = False, True, True, True

    def describe(self) -> Mapping[str, Any]:
        """{kind, name}."""
        return DEVICE

    def run(self, plan: Plan, progress: Progress) -> Run:
        """Execute, count and look for hazards, in the order that the choice's schedule says."""
        asked = plan.choice.schedule
        order = parse_schedule(asked)
        progress(0.0, "Preparing the numbers")
        run = launch.run(plan, inputs_of(plan.choice), progress=progress, schedule=order, seconds=SECONDS)
        if asked is None:
            return run
        return replace(run, badges=(f"schedule: {schedule_line(order)}",), notes={"schedule": asked})

    def time(self, plan: Plan, progress: Progress) -> None:
        """Nothing: it has no times."""

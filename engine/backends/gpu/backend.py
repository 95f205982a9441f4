"""The GPU as a backend. It runs and times; only a profiler can count inside it."""

from __future__ import annotations

from collections.abc import Mapping
from typing import Any

from engine.backends.gpu import device, launches
from engine.backends.gpu.memory import fill, stream
from engine.backends.timing import gpu
from engine.catalogue.inputs import recipe_of
from engine.catalogue.libraries import peers_named
from engine.records import Plan, Progress, Run, Timing


class Gpu:
    """The GPU of this process and its one stream."""

    times, counts, traces, ordered = True, False, False, False

    def describe(self) -> Mapping[str, Any]:
        """{kind, name, limits, peaks}."""
        return device.describe()

    def run(self, plan: Plan, progress: Progress) -> Run:
        """Compile, feed, launch, read back. NotRunnable, CompileError or RunFailed."""
        return launches.run(plan, recipe_of(plan.choice), progress)

    def time(self, plan: Plan, progress: Progress) -> Timing:
        """Return median and samples in microseconds, in the choice's L2 state, beside the libraries that do the same
        work.
        """
        prepared = launches.prepare(plan, recipe_of(plan.choice))
        with stream():
            fill(plan, prepared.arrays)  # tickets and slots are zero before the first launch; each launch resets them
        return gpu.time_plan(prepared, plan.choice.cache, peers_named(plan.choice.kernel), progress)

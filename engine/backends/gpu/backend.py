"""The GPU as a backend: it runs and times; what it counts inside only a profiler knows."""

from __future__ import annotations

from collections.abc import Mapping
from typing import Any

from engine.backends.gpu import device, launches
from engine.backends.gpu.memory import fill, stream
from engine.backends.timing import gpu
from engine.catalogue import recipe_of
from engine.catalogue.libraries import peers_named
from engine.records import Plan, Progress, Run, Timing


class Gpu:
    """The GPU of this process, on its one stream."""

    times, counts, traces, ordered = True, False, False, False

    def describe(self) -> Mapping[str, Any]:
        """{kind, name, limits, peaks}."""
        return device.describe()

    def run(self, plan: Plan, progress: Progress) -> Run:
        """Compile, feed, launch, read back. NotRunnable, CompileError or RunFailed."""
        return launches.run(plan, recipe_of(plan.choice), progress)

    def time(self, plan: Plan, progress: Progress) -> Timing:
        """Median and samples in microseconds, in the choice's state of the L2, beside the libraries of its work."""
        prepared = launches.prepare(plan, recipe_of(plan.choice))
        with stream():
            fill(plan, prepared.arrays)  # tickets and slots are zero before the first launch; each leaves them so
        return gpu.time_plan(prepared, plan.choice.cache, peers_named(plan.choice.kernel), progress)

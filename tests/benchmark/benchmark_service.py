"""The cost of a job over a direct call of its function: on this computer, and through a cluster on it.

    python -m tests.benchmark.benchmark_service [--jobs 300]

Trivial jobs run one after the other. The cluster is a scheduler and a host on the loopback, with TLS. Exit status 1 if
a median exceeds its goal.
"""

from __future__ import annotations

import argparse
import sys
import tempfile
import time
from pathlib import Path
from statistics import median, quantiles

import dask

from engine.service.cluster.hosts import Cluster
from engine.service.queue import JobQueue
from engine.service.slots import slots_for
from tests.service.hosts import together
from tests.service.jobs import job, until
from tests.service.misbehaving import add

GOALS_MS = {"embedded": 5.0, "cluster": 30.0}


def timed(queue: JobQueue, jobs: int) -> list[float]:
    """Return the milliseconds of each job, after as many warm-up jobs."""
    took = []
    for _ in range(2 * jobs):
        began = time.perf_counter()
        assert queue.submit(job("add", 1, 2, device="emulator"), "one").result(60) == 3
        took.append((time.perf_counter() - began) * 1e3)
    return took[jobs:]


def through_a_cluster(jobs: int) -> list[float]:
    with (
        tempfile.TemporaryDirectory() as folder,
        together(Path(folder)) as made,
        dask.config.set(dask.config.merge(dask.config.config, made.tls())),
    ):
        made.start("a")
        queue = JobQueue(())
        following = Cluster(made.address, queue)
        try:
            assert until(lambda: bool(queue.slots), 60.0), following.troubles
            return timed(queue, jobs)
        finally:
            queue.close()
            following.close()


def main() -> int:
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("--jobs", type=int, default=300)
    jobs = parser.parse_args().jobs
    began = time.perf_counter()
    for _ in range(jobs):
        add(1, 2)
    direct_ms = (time.perf_counter() - began) * 1e3 / jobs
    queue = JobQueue(slots_for((), emulators=1))
    try:
        rows = {"embedded": timed(queue, jobs)}
    finally:
        queue.close()
    rows["cluster"] = through_a_cluster(jobs)
    print(f"direct: {direct_ms:.4f} ms")
    for name, took in rows.items():
        print(f"{name}: median {median(took):.2f} ms, p95 {quantiles(took, n=20)[-1]:.2f} ms over {jobs} jobs")
    return int(any(median(took) - direct_ms > GOALS_MS[name] for name, took in rows.items()))


if __name__ == "__main__":
    sys.exit(main())

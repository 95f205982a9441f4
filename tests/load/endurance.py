"""A day's runs through one server, and the growth of its resources:

    python -m tests.load.endurance [--runs 20000] [--minutes 40]

A few presenters' browsers, whose runs are never answered from a cache, press Run again as soon as it has ended, each
on its own ladder. If the time ends first, the figures are those of the runs so far.
"""

from __future__ import annotations

import argparse
import asyncio
import itertools
import tempfile
import time
from collections.abc import Iterator, Sequence
from dataclasses import dataclass
from pathlib import Path

from tests.browser.conftest import running
from tests.load.browser import Browser, Failure
from tests.load.goals import Goal, machine, report
from tests.load.process import taken

LADDERS = ("harris", "crovella", "heidelberg-histogram", "cs121-banks")
N = 1024  # a run takes some milliseconds
STEPS = 6  # runs before a browser goes on to the next rung
SAMPLES = 40
LOOKS = 20
GROWTH_KB = 0.1  # a run; the smallest object that a run could leak takes as much


@dataclass(frozen=True)
class Sample:
    """Resources of the server and its workers after so many `runs`; memory in kB."""

    runs: int
    server_kb: int
    workers_kb: int
    threads: int
    files: int
    processes: int


async def sample(process: int, runs: int) -> Sample:
    """Return the server's resources now. Its threads: the least of several counts, because each running script has one
    and some script always runs."""
    threads = min([await _threads(process) for _ in range(LOOKS)])
    server = taken(process)
    workers = [taken(child) for child in server.children]
    return Sample(
        runs,
        server.memory_kb,
        sum(worker.memory_kb for worker in workers),
        threads,
        server.files + sum(worker.files for worker in workers),
        len(workers),
    )


async def _threads(process: int) -> int:
    await asyncio.sleep(0.02)
    server = taken(process)
    return server.threads + sum(taken(child).threads for child in server.children)


async def lecturer(browser: Browser, left: Iterator[int], until: float, done: list[int], failures: list[str]) -> None:
    """Press Run again and again, with a step now and then."""
    await browser.open(scripts=False)
    for number in left:
        if time.monotonic() > until or len(failures) > 10:
            break
        try:
            await browser.press("run")
            done.append(number)
            if number % STEPS == 0:
                await browser.press(("next", "previous")[number // STEPS % 2])
        except (Failure, OSError, TimeoutError) as failure:
            failures.append(f"run {number}: {failure!r}")
    await browser.close()


async def lectures(address: str, process: int, runs: int, seconds: float) -> tuple[list[Sample], list[str]]:
    """Let all browsers run; return samples after equal numbers of runs, and the failures."""
    left, until = iter(range(runs)), time.monotonic() + seconds
    done: list[int] = []
    failures: list[str] = []
    pages = (f"/?ladder={ladder}&n={N}&present=1" for ladder in LADDERS)
    going = [asyncio.create_task(lecturer(Browser(address, page), left, until, done, failures)) for page in pages]
    found: list[Sample] = []
    for due in itertools.count(runs // SAMPLES, runs // SAMPLES):
        while len(done) < due and not all(task.done() for task in going):
            await asyncio.sleep(0.05)
        if all(task.done() for task in going):
            break
        found.append(await sample(process, len(done)))
    await asyncio.gather(*going)
    return found, failures


def growth(samples: Sequence[Sample], of: str) -> float:
    """Return by how much the minimum of the last quarter exceeds that of the second, when bounded caches are full. A
    minimum leaves out what exists for a moment only, such as the thread of a running script."""
    quarter = len(samples) // 4
    early, late = samples[quarter : 2 * quarter], samples[-quarter:]
    return float(min(getattr(one, of) for one in late) - min(getattr(one, of) for one in early))


def figures(address: str, process: int, runs: int, seconds: float) -> list[Goal]:
    """Return the growth of each resource."""
    began = time.monotonic()
    samples, failures = asyncio.run(lectures(address, process, runs, seconds))
    took = time.monotonic() - began
    for one in samples[:: max(1, len(samples) // 10)]:
        print(one)
    for failure in failures[:10]:
        print(failure)
    made = samples[-1].runs - samples[len(samples) // 4].runs
    return [
        Goal("runs", samples[-1].runs),
        Goal("runs a second", samples[-1].runs / took),
        Goal("server's memory, growth of a run", growth(samples, "server_kb") / made, GROWTH_KB, "kB"),
        Goal("workers' memory, growth of a run", growth(samples, "workers_kb") / made, GROWTH_KB, "kB"),
        *(Goal(f"{what} more", growth(samples, what), 0) for what in ("threads", "files", "processes")),
        Goal("failures", len(failures), 0),
    ]


def main() -> None:
    """Print the figures."""
    parser = argparse.ArgumentParser(
        prog="python -m tests.load.endurance", description="A day's runs, and the server's growth."
    )
    parser.add_argument("--runs", type=int, default=20_000)
    parser.add_argument("--minutes", type=float, default=40.0)
    asked = parser.parse_args()
    print(machine())
    with tempfile.TemporaryDirectory() as home, running(Path(home)) as (address, process):
        goals = figures(address, process, asked.runs, 60 * asked.minutes)
    raise SystemExit(report(goals))


if __name__ == "__main__":
    main()

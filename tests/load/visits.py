"""Browsers that come and go, and the memory, files and threads that they leave behind in the server:

    python -m tests.load.visits [--browsers 1000] [--before 1000] [--at-once 8]

Each opens a page, clicks twice and leaves. The `--before` browsers fill the server's bounded caches; the others must
add nothing. Streamlit keeps the last 128 sessions for two minutes in case their browsers come back, so the two moments
compared are those when as many browsers have just gone.
"""

from __future__ import annotations

import argparse
import asyncio
import os
import tempfile
import time
from pathlib import Path

from engine.catalogue import LADDERS
from tests.browser.conftest import running
from tests.load.browser import Browser, Failure
from tests.load.goals import Goal, machine, report
from tests.load.process import Taken, taken
from views.shared.presence import GRACE_S

PAGES = ("/", "/?ladder=harris&present=1", "/inside?ladder=harris", "/sweep", "/sheets", "/machine")
POOL = min(32, (os.cpu_count() or 1) + 4)  # threads that asyncio starts as needed and keeps
GROWTH_KB = 4.0  # for each browser that has gone; a connected one takes about 150
SETTLED_S = 2.0  # until connections are closed and the timers of absent browsers have run


async def visit(address: str, number: int, failures: list[str]) -> None:
    """Let one browser open a page, click and leave."""
    names = list(LADDERS)
    path = PAGES[number % len(PAGES)].replace("harris", names[number % len(names)])
    browser = Browser(address, path)
    try:
        await browser.open(scripts=False)
        for action in ("next", "run") if "ladder" in path else ("help", "help"):
            await browser.press(action)
    except (Failure, OSError, TimeoutError) as failure:
        failures.append(f"{path}: {failure!r}")
    finally:
        await browser.close()


async def visits(address: str, numbers: range, at_once: int, failures: list[str]) -> None:
    """Let these browsers visit, `at_once` of them at the same time."""
    left = iter(numbers)

    async def one_after_the_other() -> None:
        for number in left:
            await visit(address, number, failures)

    await asyncio.gather(*(one_after_the_other() for _ in range(at_once)))


def figures(address: str, process: int, browsers: int, before_them: int, at_once: int) -> list[Goal]:
    """Return the growth of the server's resources."""
    failures: list[str] = []
    found: list[Taken] = []
    for numbers in (range(before_them), range(before_them, before_them + browsers)):
        asyncio.run(visits(address, numbers, at_once, failures))
        time.sleep(GRACE_S + SETTLED_S)
        found.append(taken(process))
    before, after = found
    for failure in failures[:10]:
        print(failure)
    return [
        Goal(f"memory before {browsers} browsers", before.memory_kb / 1024, unit="MB"),
        Goal("memory when they have gone", after.memory_kb / 1024, unit="MB"),
        Goal("growth for each", (after.memory_kb - before.memory_kb) / browsers, GROWTH_KB, "kB"),
        Goal("files more", after.files - before.files, 0),
        Goal("threads more", after.threads - before.threads, POOL),
        Goal("processes more", len(after.children) - len(before.children), 0),
        Goal("failures", len(failures), 0),
    ]


def main() -> None:
    """Print the figures."""
    parser = argparse.ArgumentParser(prog="python -m tests.load.visits", description="Browsers that come and go.")
    parser.add_argument("--browsers", type=int, default=1000)
    parser.add_argument("--before", type=int, default=1000)
    parser.add_argument("--at-once", type=int, default=8)
    asked = parser.parse_args()
    print(machine())
    with tempfile.TemporaryDirectory() as home, running(Path(home)) as (address, process):
        goals = figures(address, process, asked.browsers, asked.before, asked.at_once)
    raise SystemExit(report(goals))


if __name__ == "__main__":
    main()

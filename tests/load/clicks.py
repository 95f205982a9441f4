"""A class at work, a class that watches, and a class that follows a lecture:

    python -m tests.load.clicks [--browsers 100] [--minutes 3] [--ladder NAME] [--watching 200] [--following 200]
                                [--phones 200]

Browsers open the page one after the other within ten seconds. Then each clicks every ten seconds, a step and a run in
turn, on one ladder or, with `--ladder all`, each on another one. Afterwards `--watching` browsers have the page open
while one browser clicks; then `--following` browsers follow a presenter who steps every ten seconds; then `--phones`
do so at /f, and half of them lose their connection for half a minute.
"""

from __future__ import annotations

import argparse
import asyncio
import tempfile
import time
from collections.abc import AsyncIterator
from dataclasses import dataclass, field
from pathlib import Path

from engine.catalogue import LADDERS
from tests.browser.conftest import running
from tests.load.browser import Browser, Failure
from tests.load.following import followed
from tests.load.goals import Goal, machine, percentile, report
from tests.load.phones import BACK_S
from tests.load.phones import followed as followed_by_phones
from tests.load.process import cpu_s, taken

EVERY_S = 10.0  # between a browser's clicks
CLICK_S, FIRST_S, WATCHED_CORES, FOLLOWED_S = 1.0, 1.5, 0.5, 2.0
PHONE_S, PRESENTER_S = (0.6, 1.0, 2.0), 0.2  # of half of the phones, of 95 and of 99 of 100; the presenter's own step
OUTCOME = 'class="outcome '
CANCELLED = "cancelled"  # an outcome that no browser here asks for


@dataclass
class Seen:
    """Seconds that the browsers waited, and failures."""

    first: list[float] = field(default_factory=list)
    steps: list[float] = field(default_factory=list)
    runs: list[float] = field(default_factory=list)
    failures: list[str] = field(default_factory=list)


async def opened(address: str, ladder: str, rung: int, seen: Seen) -> Browser | None:
    """Open a browser on a rung of a ladder; None, and a failure, if the page did not come."""
    kernels = LADDERS[ladder].rungs
    browser = Browser(address, f"/?ladder={ladder}&rung={kernels[rung % len(kernels)].kernel}")
    try:
        seen.first.append(await browser.open())
    except (Failure, OSError, TimeoutError) as failure:
        seen.failures.append(f"first page: {failure!r}")
        return None
    return browser


async def clicked(browser: Browser, turn: int, seen: Seen) -> None:
    """Click once: a step forth or back, or a run."""
    step = ("next", "previous")[turn // 2 % 2]
    try:
        if turn % 2 == 0:
            seen.steps.append(await browser.press(step))
        else:
            seen.runs.append(await browser.press("run"))
            outcome = browser.text(OUTCOME).partition(OUTCOME)[2]
            if not outcome or CANCELLED in outcome:
                seen.failures.append(f"outcome: {outcome[:300]!r}")
    except (Failure, OSError, TimeoutError) as failure:
        seen.failures.append(f"click {turn}: {failure!r}")


async def turns(due: float, every: float, until: float) -> AsyncIterator[int]:
    """Yield 0, 1, ... `every` so many seconds after the moment `due`, until the end, all by the loop's clock. A turn
    that takes longer delays the next one."""
    loop, turn = asyncio.get_running_loop(), 0
    while (due := max(due + every, loop.time())) <= until:
        await asyncio.sleep(due - loop.time())
        yield turn
        turn += 1


async def student(address: str, number: int, of: int, ladder: str, until: float, seen: Seen) -> None:
    """Let one browser click until the end, by the clock: slow answers do not make its clicks rarer."""
    loop = asyncio.get_running_loop()
    begins = loop.time() + EVERY_S * number / of
    await asyncio.sleep(EVERY_S * number / of)
    ladders = list(LADDERS)
    own = ladders[number % len(ladders)] if ladder == "all" else ladder
    browser = await opened(address, own, number, seen)
    if browser is not None:
        async for turn in turns(begins, EVERY_S, until):
            await clicked(browser, turn, seen)
        await browser.close()


async def working(address: str, browsers: int, seconds: float, ladder: str) -> Seen:
    """Let the class work, and return its waits."""
    seen = Seen()
    until = asyncio.get_running_loop().time() + seconds
    await asyncio.gather(*(student(address, i, browsers, ladder, until, seen) for i in range(browsers)))
    return seen


async def watched(address: str, process: int, browsers: int, seconds: float, ladder: str) -> tuple[float, Seen]:
    """Return the cores that the server takes while many browsers watch and one clicks."""
    seen = Seen()
    there = [await opened(address, ladder, 0, seen) for _ in range(browsers)]
    listening = [asyncio.create_task(browser.listen()) for browser in there if browser is not None]
    before, began = cpu_s(process), time.perf_counter()
    await student(address, 0, 1, ladder, asyncio.get_running_loop().time() + seconds, seen)
    cores = (cpu_s(process) - before) / (time.perf_counter() - began)
    for task in listening:
        task.cancel()
    ended = await asyncio.gather(*listening, return_exceptions=True)
    seen.failures += [repr(end) for end in ended if not isinstance(end, asyncio.CancelledError)]
    await asyncio.gather(*(browser.close() for browser in there if browser is not None))
    return cores, seen


def waits(name: str, seconds: list[float], most: float | None = None) -> list[Goal]:
    """Return the median and the 95 of 100 of waits, which must not exceed `most`."""
    return [
        Goal(f"{name}, median", percentile(seconds, 0.5), unit="s"),
        Goal(f"{name}, 95 of 100", percentile(seconds, 0.95), most, "s"),
    ]


def main() -> None:
    """Print the figures."""
    parser = argparse.ArgumentParser(
        prog="python -m tests.load.clicks", description="A class that clicks, watches and follows."
    )
    parser.add_argument("--browsers", type=int, default=100)
    parser.add_argument("--minutes", type=float, default=3.0)
    parser.add_argument("--ladder", choices=[*LADDERS, "all"], default="harris")
    parser.add_argument("--watching", type=int, default=200)
    parser.add_argument("--following", type=int, default=200)
    parser.add_argument("--phones", type=int, default=200)
    asked = parser.parse_args()
    print(machine())
    with tempfile.TemporaryDirectory() as home, running(Path(home)) as (address, process):
        numbers = (asked.browsers, 60 * asked.minutes, asked.ladder, asked.watching, asked.following, asked.phones)
        goals = figures(address, process, *numbers)
    raise SystemExit(report(goals))


def figures(
    address: str, process: int, browsers: int, seconds: float, ladder: str, watching: int, following: int, phones: int
) -> list[Goal]:
    """Return the waits of a class at work, and the server's cores while a class watches or follows."""
    seen, goals = Seen(), []
    if browsers:
        seen, goals = _worked(address, process, browsers, seconds, ladder)
    # A minute at least, to include the server's periodic work.
    lecture, minute = "harris" if ladder == "all" else ladder, max(60.0, seconds / 3)
    if watching:
        cores, watched_by = asyncio.run(watched(address, process, watching, minute, lecture))
        seen.failures += watched_by.failures
        goals.append(Goal(f"server, cores, {watching} watching", cores, WATCHED_CORES))
    if following:
        found = asyncio.run(followed(address, process, following, minute, lecture))
        seen.failures += found.failures
        goals.append(Goal(f"server, cores, {following} following", found.cores, WATCHED_CORES))
        goals.append(Goal("half of them show a step", percentile(found.median, 0.5), unit="s"))
        goals.append(Goal("the last one shows a step", percentile(found.last, 0.5), FOLLOWED_S, "s"))
        goals.append(Goal("and at the slowest step", max(found.last), unit="s"))
    if phones:
        hall = asyncio.run(followed_by_phones(address, process, phones, minute, lecture))
        seen.failures += hall.failures
        goals.append(Goal(f"server, cores, {phones} phones", hall.cores, found.cores / 3 if following else None))
        for share, most in zip((0.5, 0.95, 0.99), PHONE_S, strict=True):
            goals.append(Goal(f"{100 * share:.0f} of 100 phones show a step", percentile(hall.waits, share), most, "s"))
        goals.append(Goal("the presenter's own step, at most", max(hall.steps), PRESENTER_S, "s"))
        goals.append(Goal("half of them cut off: all back", max(hall.back), BACK_S, "s"))
    for failure in seen.failures[:10]:
        print(failure)
    return [*goals, Goal("failures", len(seen.failures), 0)]


def _worked(address: str, process: int, browsers: int, seconds: float, ladder: str) -> tuple[Seen, list[Goal]]:
    before, began = cpu_s(process), time.perf_counter()
    seen = asyncio.run(working(address, browsers, seconds, ladder))
    cores = (cpu_s(process) - before) / (time.perf_counter() - began)
    clicks = seen.steps + seen.runs
    goals = [
        *waits("first page", seen.first, FIRST_S),
        *waits("step", seen.steps),
        *waits("run", seen.runs),
        *waits("click", clicks, CLICK_S),
        Goal("clicks", len(clicks)),
        Goal("server, cores", cores),
        Goal("server, memory", taken(process).memory_kb / 1024, unit="MB"),
    ]
    return seen, goals


if __name__ == "__main__":
    main()

"""Browsers that follow a lecture, while the presenter steps."""

from __future__ import annotations

import asyncio
import time
from dataclasses import dataclass, field

from tests.load.browser import Browser, Failure
from tests.load.process import cpu_s

EVERY_S = 10.0  # between the lecturer's steps
SLIDE = "/?ladder={}&present=1&reveal=all"


@dataclass
class Followed:
    """`cores`: of the server; `last`, `median`: for each step, seconds until all, or half of the browsers showed it;
    `failures`."""

    cores: float = 0.0
    last: list[float] = field(default_factory=list)
    median: list[float] = field(default_factory=list)
    failures: list[str] = field(default_factory=list)


async def followed(address: str, process: int, browsers: int, seconds: float, ladder: str) -> Followed:
    """Let browsers follow one that presents and steps forth and back."""
    found = Followed()
    lecturer = Browser(address, SLIDE.format(ladder))
    await lecturer.open()
    students = [Browser(address, f"/?ladder={ladder}&follow=1") for _ in range(browsers)]
    for student in students:
        await student.open(scripts=False)
    arrived: list[float] = []
    going = [asyncio.create_task(one.follow(lambda: arrived.append(time.perf_counter()))) for one in students]
    await asyncio.sleep(EVERY_S)  # until all have followed it
    before, began = cpu_s(process), time.perf_counter()
    for turn in range(max(1, round(seconds / EVERY_S))):
        arrived.clear()
        stepped = time.perf_counter()
        try:
            await lecturer.press(("next", "previous")[turn % 2])
        except (Failure, OSError, TimeoutError) as failure:
            found.failures.append(f"step {turn}: {failure!r}")
        await asyncio.sleep(max(0.0, stepped + EVERY_S - time.perf_counter()))
        if len(arrived) != browsers:
            found.failures.append(f"step {turn}: {len(arrived)} of {browsers} followed it")
        waited = [at - stepped for at in arrived] or [EVERY_S]
        found.last.append(waited[-1])
        found.median.append(waited[len(waited) // 2])
    found.cores = (cpu_s(process) - before) / (time.perf_counter() - began)
    for task in going:
        task.cancel()
    ended = await asyncio.gather(*going, return_exceptions=True)
    found.failures += [repr(end) for end in ended if not isinstance(end, asyncio.CancelledError)]
    await asyncio.gather(*(browser.close() for browser in (lecturer, *students)))
    return found

"""Students who each edit a kernel of their own and check it:

    python -m tests.load.checks [--students 25 50 100] [--minutes 2] [--every 30]

Each opens the lab, changes one number of the text, and presses Check every 30 seconds: no two texts are equal, so each
is compiled and emulated for itself. Every number of students has a new server.
"""

from __future__ import annotations

import argparse
import asyncio
import tempfile
import time
from pathlib import Path

from tests.browser.conftest import running
from tests.load.browser import Browser, Failure
from tests.load.clicks import Seen, turns, waits
from tests.load.goals import Goal, machine, report
from tests.load.process import children, cpu_of_all_s, taken

LAB = "/lab?start=saxpy"
CHECK_S = 5.0  # 95 of 100 checks are shown within it
TEXT = """// {number} of {student}
__global__ void saxpy(float a, const float *x, float *y, int n) {{
    int i = blockIdx.x * blockDim.x + threadIdx.x;
    if (i < n) y[i] = a * x[i] + y[i];
}}
"""
RIGHT = 'class="insideanswer good"'


async def student(address: str, number: int, of: int, every: float, until: float, seen: Seen) -> None:
    """Let one student check until the end, by the clock: slow answers do not make the checks rarer."""
    loop = asyncio.get_running_loop()
    begins = loop.time() + every * number / of
    await asyncio.sleep(every * number / of)
    browser = Browser(address, LAB)
    try:
        seen.first.append(await browser.open())
        async for turn in turns(begins, every, until):
            seen.runs.append(await browser.check(TEXT.format(number=turn, student=number)))
            if not browser.text(RIGHT):
                seen.failures.append(f"check {turn} of {number}: not right")
    except (Failure, OSError, TimeoutError) as failure:
        seen.failures.append(f"student {number}: {failure!r}")
    await browser.close()


async def working(address: str, students: int, seconds: float, every: float) -> Seen:
    """Let the class work, and return its waits."""
    seen = Seen()
    until = asyncio.get_running_loop().time() + seconds + every
    await asyncio.gather(*(student(address, i, students, every, until, seen) for i in range(students)))
    return seen


def figures(students: int, seconds: float, every: float) -> list[Goal]:
    """Return the waits of a class in the lab, and the cores and the memory of its server with all its processes."""
    with tempfile.TemporaryDirectory() as home, running(Path(home)) as (address, process):
        before, began = cpu_of_all_s(process), time.perf_counter()
        seen = asyncio.run(working(address, students, seconds, every))
        cores = (cpu_of_all_s(process) - before) / (time.perf_counter() - began)
        kb = sum(taken(each).memory_kb for each in (process, *children(process)))
    for failure in seen.failures[:10]:
        print(failure)
    return [
        Goal(f"{students} students, checks", len(seen.runs)),
        *waits("check", seen.runs, CHECK_S),
        Goal("check, the slowest", max(seen.runs), unit="s"),
        Goal("cores of the server and its workers", cores),
        Goal("memory of the server and its workers", kb / 1024, unit="MB"),
        Goal("failures", len(seen.failures), 0),
    ]


def main() -> None:
    """Print the figures."""
    parser = argparse.ArgumentParser(prog="python -m tests.load.checks", description="Students who edit and check.")
    parser.add_argument("--students", type=int, nargs="+", default=[25, 50, 100])
    parser.add_argument("--minutes", type=float, default=2.0)
    parser.add_argument("--every", type=float, default=30.0, help="seconds between a student's checks")
    asked = parser.parse_args()
    print(machine())
    goals = [goal for students in asked.students for goal in figures(students, 60 * asked.minutes, asked.every)]
    raise SystemExit(report(goals))


if __name__ == "__main__":
    main()

"""What the pages cost the server, as a table: milliseconds of its CPU for a first page, a step, a run.

A process's own time is nearly the same on a busy machine; that of the workers, which run the kernels, does not count.
Nothing is asserted.

python -m tests.browser.cost [TIMES]
"""

from __future__ import annotations

import statistics
import sys
import tempfile
from collections.abc import Callable
from dataclasses import dataclass
from functools import partial
from pathlib import Path

from playwright.sync_api import Browser, Page, expect, sync_playwright

from tests.browser.conftest import CHROMIUM, FLAGS, running
from tests.load.process import cpu_s

QUIET_S = 0.4  # without a sign of the script: the server has answered
WANTED_MS = 25


@dataclass(frozen=True)
class Action:
    """`name`: of the row; `address`: where; `keys`: pressed in turn, each of which changes the text at `changes`."""

    name: str
    address: str
    keys: tuple[str, ...]
    changes: str


HEADING = ".rungtext h2, .presenting h1"
OUTCOME = ".st-key-numbers .outcome"
STEPS, RUNS = ("ArrowRight", "ArrowLeft"), ("r",)
ACTIONS = (
    Action("ladder: step", "/?ladder=harris&n=4096", STEPS, HEADING),
    Action("ladder: run", "/?ladder=harris&n=4096", RUNS, OUTCOME),
    Action("ladder at its own N: step", "/?ladder=harris", STEPS, HEADING),
    Action("ladder of 15 rungs: step", "/?ladder=crovella", STEPS, HEADING),
    Action("ladder of matrices: step", "/?ladder=beyond-tiling", STEPS, HEADING),
    Action("present: step", "/?ladder=harris&n=4096&present=1&reveal=all", STEPS, HEADING),
    Action("present: run", "/?ladder=harris&n=4096&present=1&reveal=all", RUNS, OUTCOME),
    Action("in motion: step", "/?ladder=harris&n=4096&show=motion", STEPS, HEADING),
    Action("inside: step", "/inside?ladder=harris&n=4096", STEPS, ".insideanswer"),
    Action("inside: run", "/inside?ladder=harris&n=4096", RUNS, ".insideanswer"),
)
PAGES = {
    "ladder": "/?ladder=harris&n=4096",
    "present": "/?ladder=harris&n=4096&present=1&reveal=all",
    "sweep": "/sweep?topic=reduction",
    "inside": "/inside?ladder=harris&n=4096",
    "machine": "/machine",
}


def cpu_ms(process: int) -> float:
    """Milliseconds of CPU that a process has used."""
    return 1000 * cpu_s(process)


def settled(page: Page, process: int) -> None:
    """The script has ended, and the server is quiet."""
    expect(page.locator("[data-testid=stApp]")).to_have_attribute("data-test-script-state", "notRunning")
    before = cpu_ms(process)
    page.wait_for_timeout(1000 * QUIET_S)
    while cpu_ms(process) - before > 2:
        before = cpu_ms(process)
        page.wait_for_timeout(1000 * QUIET_S)


def cost(page: Page, process: int, do: Callable[[], None]) -> float:
    """The server's CPU from `do` until it is quiet again."""
    before = cpu_ms(process)
    do()
    settled(page, process)
    return cpu_ms(process) - before


def opened(browser: Browser, process: int, url: str) -> tuple[Page, float]:
    """A browser that was never here, its page drawn; and what that cost."""
    page = browser.new_context(viewport={"width": 1280, "height": 720}).new_page()

    def go() -> None:
        page.goto(url)
        expect(page.locator("body")).to_have_attribute("data-keys", "heard")

    return page, cost(page, process, go)


def costs(browser: Browser, process: int, address: str, times: int) -> dict[str, list[float]]:
    """Row -> milliseconds, of so many tries after the first, which warms."""
    found: dict[str, list[float]] = {}
    for name, path in PAGES.items():
        row = found.setdefault(f"{name}: first page", [])
        for _ in range(4):
            page, spent = opened(browser, process, address + path)
            row.append(spent)
            page.context.close()
    for action in ACTIONS:
        page, _ = opened(browser, process, address + action.address)
        row = found.setdefault(action.name, [])
        for turn in range(times + 2):
            row.append(cost(page, process, partial(page.keyboard.press, action.keys[turn % len(action.keys)])))
        page.context.close()
    return {name: row[1:] if "first page" in name else row[2:] for name, row in found.items()}


def main() -> None:
    """Print the table."""
    times = int(sys.argv[1]) if len(sys.argv) > 1 else 8
    expect.set_options(timeout=60_000)
    with tempfile.TemporaryDirectory() as home, sync_playwright() as playwright:
        browser = playwright.chromium.launch(executable_path=CHROMIUM, args=FLAGS)
        with running(Path(home)) as (address, process):
            found = costs(browser, process, address, times)
        browser.close()
    print(f"milliseconds of the server's CPU; a click should cost {WANTED_MS} at most")
    for name, row in found.items():
        print(f"{name:28} median {statistics.median(row):6.1f}   least {min(row):6.1f}   most {max(row):6.1f}")


if __name__ == "__main__":
    main()

"""How smoothly a block of 256 threads moves, as a table; for a calm machine, nothing is asserted.

python -m tests.browser.frames [1920x1080]

Chromium draws in software here: what it does beside the page's own thread takes from the frames a second, on few cores
more than a laptop's graphics would. What counts everywhere is the time of the page's own thread for a frame.
"""

from __future__ import annotations

import os
import statistics
import sys
import tempfile
from dataclasses import dataclass
from pathlib import Path

from playwright.sync_api import CDPSession, Page, expect, sync_playwright

from tests.browser.conftest import CHROMIUM, FLAGS, served
from tests.browser.test_picture_browser import at_rest, part

WANTED_MS = 16.0
PLAYED_S = 6
# The tree, its bank conflicts, the shuffle, tiles, a copy of global memory, divergent branches, Volta's schedule.
BLOCKS = {
    "reduce_interleaved": "harris&n=4096&block=256",
    "reduce_strided": "harris&n=4096&block=256",
    "reduce_sequential": "harris&n=4096&block=256",
    "reduce_warp_shuffle": "harris&n=4096&block=256",
    "matmul_tiled": "cs121-tiling&n=64&block=16",
    "copy_strided": "cs121-access&n=4096&block=256",
    "divergence_ways": "cs121-divergence&n=4096&block=256",
    "branch_order": "heidelberg-volta&n=256&block=256",
}
# Every frame: when it began, and how long the player drew, which says so itself.
WATCH = """(player, seconds) => new Promise((done) => {
  const began = performance.now(), frames = [], drawn = [];
  const look = (now) => {
    frames.push(now);
    drawn.push(Number(player.dataset.drawn));
    if (now - began < 1000 * seconds) requestAnimationFrame(look); else done({ frames, drawn });
  };
  requestAnimationFrame(look);
})"""


@dataclass(frozen=True)
class Smooth:
    """Frames a second; the player's drawing of a frame, median and 95th of a hundred; the page's own thread for one."""

    rate: float
    drawn_ms: float
    slow_ms: float
    thread_ms: float


# The frames of the screen from the first move of a line to the last one's end.
MOVES = """() => new Promise((done) => {
  const frames = [];
  const look = (now) => {
    const ofLine = ({ effect, playState }) => effect.target?.matches?.('.line') && playState === 'running';
    const moving = document.getAnimations().some(ofLine);
    if (moving) frames.push(now);
    if (moving || !frames.length) requestAnimationFrame(look); else done(frames);
  };
  requestAnimationFrame(look);
})"""


def stepped(page: Page) -> Smooth:
    """The lines of the source on the slide that is on the page, moving to the next rung."""
    session = page.context.new_cdp_session(page)
    session.send("Performance.enable", {"timeDomain": "threadTicks"})
    expect(page.locator(".slide .line").first).to_be_visible()
    page.keyboard.press("ArrowRight")
    busy = -thread_s(session)
    frames = page.evaluate(MOVES)
    busy += thread_s(session)
    session.detach()
    return Smooth((len(frames) - 1) / (frames[-1] - frames[0]) * 1000, 0.0, 0.0, 1000 * busy / len(frames))


def watched(page: Page) -> Smooth:
    """The block that is on the page, played from its beginning."""
    session = page.context.new_cdp_session(page)
    session.send("Performance.enable", {"timeDomain": "threadTicks"})  # of the core, whoever else uses it
    part(page, "first").click()
    part(page, "play").click()
    busy = -thread_s(session)
    seen = part(page, "player").evaluate(WATCH, PLAYED_S)
    busy += thread_s(session)
    session.detach()
    frames, drawn = seen["frames"], sorted(seen["drawn"])
    return Smooth((len(frames) - 1) / (frames[-1] - frames[0]) * 1000, statistics.median(drawn),
                  drawn[int(0.95 * len(drawn))], 1000 * busy / len(frames))  # fmt: skip


def thread_s(session: CDPSession) -> float:
    """Seconds that the page's own thread has worked so far."""
    metrics = session.send("Performance.getMetrics")["metrics"]
    return float(next(metric["value"] for metric in metrics if metric["name"] == "TaskDuration"))


def main() -> None:
    """Print the table."""
    expect.set_options(timeout=40_000)
    width, height = map(int, (sys.argv[1] if len(sys.argv) > 1 else "1920x1080").split("x"))
    with tempfile.TemporaryDirectory() as home, sync_playwright() as playwright, served(Path(home)) as address:
        browser = playwright.chromium.launch(executable_path=CHROMIUM, args=FLAGS)
        page = browser.new_page(viewport={"width": width, "height": height})
        print(f"{width}x{height}, load {os.getloadavg()[0]:.1f}, {os.cpu_count()} cores;", end=" ")
        print(f"wanted: {WANTED_MS} ms of the page's thread")
        print(f"{'block of 256 threads':24} frames/s   drawing: median    95%   page's thread a frame (ms)", flush=True)
        for kernel, choice in BLOCKS.items():
            at_rest(page, f"{address}/inside?rung={kernel}&ladder={choice}")
            it = watched(page)
            print(f"{kernel:24} {it.rate:8.1f} {it.drawn_ms:17.1f} {it.slow_ms:6.1f} {it.thread_ms:14.1f}", flush=True)
        browser.close()


if __name__ == "__main__":
    main()

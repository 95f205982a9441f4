"""How quickly the pages answer, as a table: first page, step, run. For a calm machine; nothing is asserted.

python -m tests.browser.speed [--gpu]
"""

from __future__ import annotations

import os
import statistics
import sys
import tempfile
import time
from collections.abc import Callable
from pathlib import Path

from playwright.sync_api import Browser, Page, expect, sync_playwright

from tests.browser.conftest import CHROMIUM, FLAGS, running

TIMES = 9
REST_S, REST = 0.3, 0.05  # a browser that takes less than this share of a core for so many seconds
# What the first page can be measured by: Streamlit's own with next to nothing on it, and with one chart.
EMPTY = """import streamlit as st
st.html('<table><tr class="current"><td>here</td></tr></table>')
"""
CHART = f"""{EMPTY}
import plotly.graph_objects as go
with st.container(key="drawing"):
    st.plotly_chart(go.Figure(go.Bar(x=[1, 2, 3], y=["a", "b", "c"], orientation="h")))
"""
PLAIN = {"an empty page of Streamlit, warm": EMPTY, "one with a chart, warm": CHART}
OPENING = "first page, window just opened"
WANTED_MS = {"first page, cold server": 2000, "first page, warm": 1000, "step to the next rung": 150,
             "run to its result": 300, "check to marks at 2^20": 800}  # fmt: skip


def drawn(page: Page, chart: bool = True) -> None:
    """The page's table stands, and its plot."""
    plot = "document.querySelector('.st-key-drawing .main-svg') && " if chart else ""
    page.wait_for_function(f"() => {plot}document.querySelector('tr.current')")


def opened(browser: Browser) -> Page:
    """The empty window of a browser that was never anywhere. Chromium goes on to draw it: half a second of a core, most
    of it for a page of its address bar's own."""
    return browser.new_context(viewport={"width": 1280, "height": 720}).new_page()


def window(browser: Browser) -> Page:
    """The same at rest: whoever opens a page has a window, and the cores are idle."""
    page = opened(browser)
    told = browser.new_browser_cdp_session()
    before, now = -1.0, 0.0
    while now - before > REST_S * REST:
        page.wait_for_timeout(1000 * REST_S)
        before, now = now, sum(one["cpuTime"] for one in told.send("SystemInfo.getProcessInfo")["processInfo"])
    told.detach()
    return page


def first_page(page: Page, url: str, chart: bool = True) -> float:
    """Milliseconds until an empty window has drawn the page."""
    began = time.perf_counter()
    page.goto(url)
    drawn(page, chart)
    took = 1000 * (time.perf_counter() - began)
    page.context.close()
    return took


def timed(page: Page, do: Callable[[], None], changed: str) -> float:
    """Milliseconds from a key to a change of the text at `changed`, as the browser's own clock sees it."""
    page.evaluate(
        """(at) => { const was = document.querySelector(at).innerText, began = performance.now();
        window.took = new Promise((done) => { const look = () => document.querySelector(at)?.innerText !== was
        && document.querySelector(at) ? done(performance.now() - began) : requestAnimationFrame(look); look(); }); }""",
        changed,
    )
    do()
    return float(page.evaluate("() => window.took"))


def checked(page: Page, number: int) -> float:
    """Milliseconds from Ctrl+Enter to the marks and counts of a source that was never checked before."""
    text = page.locator(".cm-content")
    text.press("Control+Home")
    page.keyboard.insert_text(f"// {number}\n")
    page.locator("[data-part=editor]").evaluate(
        """(root) => { root.dataset.state = ''; window.took = new Promise((done) => {
        document.addEventListener('keydown', () => { const began = performance.now();
        const look = () => root.dataset.state === 'done' ? done(performance.now() - began)
        : requestAnimationFrame(look);
        look(); }, { once: true, capture: true }); }); }"""
    )
    text.press("Control+Enter")
    return float(page.evaluate("() => window.took"))


def main() -> None:
    """Print the table. --gpu: beside this computer's GPU, at the ladder's own N."""
    gpu = "--gpu" in sys.argv[1:]
    expect.set_options(timeout=60_000)
    found: dict[str, list[float]] = {name: [] for name in (*PLAIN, *WANTED_MS, OPENING)}
    with tempfile.TemporaryDirectory() as home, sync_playwright() as playwright:
        browser = playwright.chromium.launch(executable_path=CHROMIUM, args=FLAGS)
        script = Path(home, "plain.py")
        for name, text in PLAIN.items():
            script.write_text(text)
            with running(Path(home), script=str(script)) as (address, _):
                taken = [first_page(window(browser), address, chart=text is CHART) for _ in range(5)]
                found[name] += taken[1:]
        ready = window(browser)  # before the server, which has no time to warm up meanwhile
        with running(Path(home), gpu=gpu) as (address, _):
            url = f"{address}/?ladder=harris" + ("" if gpu else "&n=4096")
            found["first page, cold server"].append(first_page(ready, url))
            for _ in range(4):
                found["first page, warm"].append(first_page(window(browser), url))
                found[OPENING].append(first_page(opened(browser), url))
            page = browser.new_page(viewport={"width": 1280, "height": 720})
            page.goto(url)
            drawn(page)
            expect(page.locator("body")).to_have_attribute("data-keys", "heard")
            for at in range(TIMES):
                key = "ArrowRight" if at % 2 == 0 else "ArrowLeft"
                found["step to the next rung"].append(timed(page, lambda k=key: page.keyboard.press(k), ".rungtext h2"))
                page.wait_for_timeout(700)
            page.keyboard.press("Home")
            for _ in range(TIMES):
                page.keyboard.press("ArrowRight")  # what was emulated before is not run again
                page.wait_for_timeout(700)
                said = ".st-key-numbers .outcome"
                found["run to its result"].append(timed(page, lambda: page.keyboard.press("r"), said))
                page.wait_for_timeout(1200)  # its time is told in seconds
            page.goto(f"{address}/lab?ladder=harris&rung=reduce_sequential&n={1 << 20}")
            expect(page.locator("[data-part=editor]")).to_have_attribute("data-ready", "yes")
            checked(page, -1)  # starts the worker's imports, and runs the rung itself
            expect(page.locator("table.hardware")).to_contain_text("mine / #3")
            for number in range(TIMES):
                found["check to marks at 2^20"].append(checked(page, number))
                page.wait_for_timeout(700)
        browser.close()
    print(f"load {os.getloadavg()[0]:.1f}, {os.cpu_count()} cores, Python {sys.version.split()[0]}, milliseconds")
    for name, values in found.items():
        wanted = f"   wanted {WANTED_MS[name]}" if name in WANTED_MS else ""
        print(f"{name:33} median {statistics.median(values):6.0f}   most {max(values):6.0f}{wanted}")


if __name__ == "__main__":
    main()

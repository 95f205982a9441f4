"""Who closes the tab waits for nothing any more, and holds up nobody else."""

from __future__ import annotations

import re
import urllib.request

import pytest
from playwright.sync_api import BrowserContext, expect

from tests.browser.test_dashboard import HARRIS, counted, opened
from tests.service.jobs import until

LONG = "/?ladder=cs121-tiling&rung=matmul_uncoalesced&n=1024&device=emulator"  # the emulator's whole 30 s
PATIENCE_S = 60.0  # a run that is not cancelled times out: how soon it is cancelled, a busy machine does not tell


def number(address: str, name: str) -> int:
    """What the server says at this moment, over all devices."""
    with urllib.request.urlopen(f"{address}/metrics", timeout=20) as answer:
        found = re.findall(rf"^kernel_ladder_{name} (\d+)$", answer.read().decode(), re.MULTILINE)
    return sum(map(int, found))


@pytest.mark.thorough
def test_a_tab_closed_in_mid_run_frees_the_worker(laptop: BrowserContext, address: str) -> None:
    running, cancelled = r"running_jobs\{[^}]*\}", r'jobs_total\{[^}]*outcome="cancelled"\}'
    other = opened(laptop.new_page(), f"{address}{HARRIS}&n=1600")
    leaving = opened(laptop.new_page(), f"{address}{LONG}")
    assert until(lambda: number(address, running) == 0, PATIENCE_S), "another page, which is left, still runs"
    before = number(address, cancelled)
    leaving.keyboard.press("r")
    expect(leaving.locator(".st-key-working")).to_be_visible()
    assert until(lambda: number(address, running) > 0, PATIENCE_S), "it has the worker"
    leaving.close()
    assert until(lambda: number(address, cancelled) == before + 1, PATIENCE_S)
    other.keyboard.press("r")
    counted(other)
    other.close()

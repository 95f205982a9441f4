"""Who closes the tab waits for nothing any more, and holds up nobody else."""

from __future__ import annotations

import time

import pytest
from playwright.sync_api import BrowserContext, expect

from tests.browser.test_dashboard import HARRIS, counted, opened

LONG = "/?ladder=cs121-tiling&rung=matmul_uncoalesced&n=1024&device=emulator"
MOST_S = 8.0  # 17 s and more while the run went on


@pytest.mark.thorough
def test_a_tab_closed_in_mid_run_frees_the_worker(laptop: BrowserContext, address: str) -> None:
    other = opened(laptop.new_page(), f"{address}{HARRIS}&n=1600")
    leaving = opened(laptop.new_page(), f"{address}{LONG}")
    leaving.keyboard.press("r")
    expect(leaving.locator(".st-key-working")).to_be_visible()
    leaving.wait_for_timeout(1500)  # it has the worker
    leaving.close()
    began = time.monotonic()
    other.keyboard.press("r")
    counted(other)
    assert time.monotonic() - began < MOST_S
    other.close()

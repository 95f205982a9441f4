"""A block of 256 threads moves without a stumble: its frames leave the page's thread time."""

from __future__ import annotations

import pytest
from playwright.sync_api import Page

from tests.browser.frames import BLOCKS, WANTED_MS, watched
from tests.browser.test_picture_browser import at_rest


@pytest.mark.release
def test_a_frame_of_256_threads_takes_no_more_of_the_pages_thread_than_60_a_second_leave(
    page: Page, address: str
) -> None:
    """In seconds of the core that it had, so that others on the machine do not count."""
    page.set_viewport_size({"width": 1920, "height": 1080})
    kernel = "reduce_sequential"  # of all, what draws most
    at_rest(page, f"{address}/inside?rung={kernel}&ladder={BLOCKS[kernel]}")
    assert watched(page).thread_ms <= WANTED_MS

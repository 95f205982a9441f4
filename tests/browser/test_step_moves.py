"""A step from rung to rung on a slide: the lines of the source move to their new places."""

from __future__ import annotations

import pytest
from playwright.sync_api import Page, expect

from tests.browser.frames import WANTED_MS, stepped
from tests.browser.test_dashboard import opened

SLIDE = "/?ladder=harris&rung=reduce_strided&show=rate&present=1&reveal=all"
COUNT = """() => {
  const own = Element.prototype.animate;
  window.animated = [];
  Element.prototype.animate = function (frames, how) {
    if (this.matches('.line')) window.animated.push(frames[0].transform ? 'moves' : 'appears');
    return own.call(this, frames, how);
  };
}"""


def animated(page: Page, address: str) -> list[str]:
    """What a step to the next rung does to the lines of the source."""
    opened(page, f"{address}{SLIDE}")
    expect(page.locator(".slide .line.changed").first).to_be_visible()
    page.evaluate(COUNT)
    page.keyboard.press("ArrowRight")
    expect(page.locator(".presenting[data-rung='2']")).to_be_visible()
    expect(page.locator(".slide:has(.number:text-is('22')) .lines[data-placed]")).to_be_visible()
    return list(page.evaluate("() => window.animated"))


@pytest.mark.thorough
def test_lines_move_to_their_new_places_and_new_ones_appear(page: Page, address: str) -> None:
    found = animated(page, address)
    assert found.count("moves") >= 5 and found.count("appears") >= 3


@pytest.mark.thorough
def test_nothing_moves_for_a_reader_who_asks_for_reduced_motion(page: Page, address: str) -> None:
    page.emulate_media(reduced_motion="reduce")
    assert animated(page, address) == []


@pytest.mark.release
def test_a_frame_of_the_step_leaves_the_pages_thread_time(page: Page, address: str) -> None:
    opened(page, f"{address}{SLIDE}")
    assert stepped(page).thread_ms <= WANTED_MS

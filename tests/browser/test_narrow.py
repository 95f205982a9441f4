"""Every page on a phone: nothing is beyond the edge of 390 pixels."""

from __future__ import annotations

from collections.abc import Iterator

import pytest
from playwright.sync_api import Browser, Page, expect

from tests.browser.conftest import PATIENCE_MS
from tests.browser.test_accessibility import DEBUGGED
from tests.browser.test_dashboard import opened, wait

WIDE = 390
SIDE = "harris~reduce_strided~4096~128~nvidia-h200~lockstep"
PAGES = ("/?ladder=harris&n=4096&rung=reduce_strided&show=motion", "/?ladder=harris&present=1&reveal=all",
         f"/compare?a={SIDE}&b={SIDE}", "/sweep", "/inside?ladder=harris&n=4096", "/lab", "/sheets", "/machine",
         "/terms", DEBUGGED)  # fmt: skip
WIDTH = "() => document.querySelector('[data-testid=stMain]').scrollWidth"
# What can be pressed or read, and is beyond the edge of the window and of no box that scrolls.
BEYOND = """() => [...document.querySelectorAll('button, a, input, [role=combobox], .tile, h2, p')].filter((each) => {
  const { left, right, width } = each.getBoundingClientRect();
  if (!width || !each.checkVisibility() || (left > -2 && right < innerWidth + 2)) return false;
  for (let place = each.parentElement; place && !place.matches('[data-testid=stMain]'); place = place.parentElement) {
    if (/auto|scroll|hidden/.test(getComputedStyle(place).overflowX)) return false;
  }
  return true;
}).map((each) => each.outerHTML.slice(0, 80))"""

CUT = "() => [...document.querySelectorAll('.tile')].filter((tile) => tile.scrollWidth > tile.clientWidth + 1).length"


@pytest.fixture(scope="module")
def phone(browser: Browser) -> Iterator[Page]:
    context = browser.new_context(viewport={"width": WIDE, "height": 844}, has_touch=True)
    page = context.new_page()
    page.set_default_timeout(PATIENCE_MS)
    yield page
    context.close()


@pytest.mark.sampled(quick=0, thorough=3)
@pytest.mark.parametrize("url", PAGES, ids=lambda url: url[:60])
def test_no_page_is_wider_than_a_phone(phone: Page, address: str, url: str) -> None:
    opened(phone, f"{address}{url}")
    wait(phone, lambda: phone.evaluate(WIDTH) <= WIDE + 1)
    assert phone.evaluate(BEYOND) == []
    assert phone.evaluate(CUT) == 0


@pytest.mark.thorough
def test_a_sheet_shows_its_task_before_the_editor(phone: Page, address: str) -> None:
    opened(phone, f"{address}/sheets?sheet=first-saxpy")
    expect(phone.locator(".cm-content")).to_be_visible()
    task, editor = (phone.locator(name).first.bounding_box() for name in (".sheettitle", ".cm-content"))
    assert task and editor and task["y"] < editor["y"]

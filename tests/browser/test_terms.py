"""Terms are explained where they stand: by a press, by the keyboard, on a slide by E, and on a page of their own."""

from __future__ import annotations

import re

import pytest
from playwright.sync_api import Page, expect

from tests.browser.test_accessibility import violations
from tests.browser.test_dashboard import HARRIS, opened

pytestmark = pytest.mark.thorough
BANK = '.term[data-term="bank conflict"]'
NUMBER = re.compile(r"[\d,]*\d")
# Texts of the open cards that are smaller than 2.2% of the window's height, as drawn.
SMALL = """() => [...document.querySelectorAll('dialog.terms :is(h2, p, text)')].filter((text) => {
  const scale = text.closest('svg') ? text.closest('svg').getBoundingClientRect().width / 200 : 1;
  return parseFloat(getComputedStyle(text).fontSize) * scale < 0.0217 * innerHeight;
}).map((text) => text.textContent)"""
INSIDE = """(card) => { const at = card.getBoundingClientRect();
  return at.left >= 0 && at.top >= 0 && at.right <= innerWidth && at.bottom <= innerHeight; }"""
NAMES = "(found) => [...new Set(found.filter((each) => each.checkVisibility()).map((each) => each.dataset.term))]"


def test_a_term_is_explained_where_it_stands_on_a_slide_and_on_its_page(page: Page, address: str) -> None:
    opened(page, f"{address}{HARRIS}&rung=reduce_strided&n=4096")
    card, sheet = page.locator(".termcard"), page.locator("dialog.terms")
    page.locator(".rungtext .term").first.focus()
    page.keyboard.press("Enter")
    expect(card).to_be_visible()
    expect(card).to_be_focused()
    assert violations(page, ".termcard") == []
    page.keyboard.press("Escape")
    expect(card).to_have_count(0)
    expect(page.locator(".rungtext .term").first).to_be_focused()

    page.keyboard.press("r")
    tile = page.locator(".tile", has=page.locator(BANK))
    expect(page.locator('.here [data-term="bank conflict"]')).to_have_count(1)
    page.set_viewport_size({"width": 390, "height": 844})
    tile.locator(BANK).click()
    expect(card.locator("svg")).to_be_visible()
    assert card.evaluate(INSIDE)
    numbers = [NUMBER.findall(part.inner_text()) for part in (card.locator(".now"), tile.locator("strong"))]
    assert numbers[0] == numbers[1] != []
    link = card.get_by_role("link").get_attribute("href")
    page.set_viewport_size({"width": 1280, "height": 720})

    opened(page, f"{address}{HARRIS}&rung=reduce_strided&present=1&reveal=1")
    expect(page.locator(".presenting[data-covered=True]")).to_have_count(1)
    page.keyboard.press("e")
    expect(sheet.locator("svg").first).to_be_visible()
    names = page.locator(".stApp .term").evaluate_all(NAMES)
    assert sheet.locator("h2").all_inner_texts() == names and "bank conflict" in names
    expect(sheet.locator(".now")).to_have_count(0)
    assert page.evaluate(SMALL) == [] and violations(page, "dialog.terms") == []
    page.keyboard.press("Escape")
    expect(sheet).to_have_count(0)
    expect(page.locator(".presenting")).to_be_visible()
    page.keyboard.press("e")
    expect(sheet).to_be_visible()
    page.keyboard.press("ArrowRight")
    expect(sheet).to_have_count(0)
    expect(page.locator(".presenting[data-covered=False]")).to_have_count(1)
    page.keyboard.press("e")
    expect(sheet.locator(".now").filter(has_text="GB/s")).to_have_count(1)

    opened(page, f"{address}/{(link or '').removeprefix('./')}")
    expect(page.locator("#term-bank-conflict svg")).to_be_in_viewport()

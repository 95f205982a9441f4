"""The debugger in a real browser: from a race in the lab to both of its accesses, by keys, and in a second browser."""

from __future__ import annotations

import re
from urllib.parse import urlencode

import pytest
from playwright.sync_api import Browser, Page, expect

from tests.browser.conftest import tab
from tests.browser.test_accessibility import DEBUGGED
from tests.browser.test_dashboard import drawn
from tests.browser.test_lab_browser import checked, editor_at
from tests.views.test_debugger_page import CALL, RACE
from views.debugger.asked import pack

LAB = "/lab?" + urlencode({"start": "saxpy", "source": pack(RACE), "call": CALL, "right": "", "n": "64"})
AT = re.compile(r"[&?]at=(\d+)")


def moment(page: Page) -> int:
    found = AT.search(page.url)
    return int(found[1]) if found else -1


def at(moment: int) -> re.Pattern[str]:
    return re.compile(rf"[&?]at={moment}\b")


def test_a_race_of_the_lab_is_stepped_through_in_both_directions(page: Page, address: str) -> None:
    editor_at(page, f"{address}{LAB}")
    checked(page, "Ran")
    page.locator(".stepthrough button").first.click()
    expect(page.locator(".pair button")).to_have_count(2)
    expect(page.locator(".line.next")).to_have_count(1)
    expect(page).to_have_url(AT)
    drawn(page)  # a key that is pressed before the page hears keys is lost
    access = moment(page)
    page.keyboard.press("ArrowRight")
    expect(page).not_to_have_url(at(access))
    drawn(page)
    start = moment(page)
    page.keyboard.press("ArrowRight")
    expect(page).not_to_have_url(at(start))
    drawn(page)
    page.keyboard.press("ArrowLeft")
    expect(page).to_have_url(at(start))
    page.get_by_role("button", name=re.compile("^stride$")).click()
    expect(page.locator(".st-key-debuglanes .lanes button")).to_have_count(64)
    page.locator(".pair button").last.click()
    expect(page).not_to_have_url(at(start))
    page.get_by_role("button", name="Back to the lab").click()
    expect(page.locator(".cm-content")).to_contain_text("__shared__ float s[64]")


CUT = "() => [...document.querySelectorAll('.lanes button')].filter((one) => one.scrollWidth > one.clientWidth).length"


def test_no_number_in_a_cell_is_cut(page: Page, address: str) -> None:
    editor_at(page, f"{address}/lab?start=saxpy&n=1000")
    page.get_by_role("button", name="Step through").click()
    expect(page.locator(".lanes.memory button").first).to_have_text(re.compile(r"^-?\d+\.\d{2}$"))
    assert page.evaluate(CUT) == 0


@pytest.mark.thorough
def test_the_same_address_shows_the_same_moment_in_another_browser(browser: Browser, address: str) -> None:
    one, other = tab(browser), tab(browser)
    one.goto(f"{address}{DEBUGGED}")
    expect(one.locator(".pair button")).to_have_count(2)
    one.locator(".timeaxis .targets i").nth(40).click()
    expect(one).to_have_url(re.compile(r"[&?]at=40\b"))
    other.goto(one.url)
    expect(other.locator("table.variables")).to_have_text(re.compile(r"stride"))
    # The address changes before the first browser's page does; the second browser begins at the address.
    moment = other.locator("table.variables").inner_text()
    expect(one.locator("table.variables")).to_have_text(moment, use_inner_text=True)
    for page in (one, other):
        page.context.close()

"""A class with a key, in a real browser: signing in where a link led, quiet pages, drafts of one's own."""

from __future__ import annotations

import re

import pytest
from playwright.sync_api import Browser, Page, expect

from tests.browser.conftest import BREACHES, GIVEN, tab
from tests.browser.test_accessibility import DEBUGGED
from tests.browser.test_dashboard import counted, heading, opened
from tests.browser.test_lab_browser import SAXPY, editor_at, typed
from tests.sentences import wording

SLIDE = "/?ladder=harris&rung=reduce_strided&n=4096&device=emulator"
PAGES = (SLIDE, "/sweep", "/inside?show=motion", "/lab", DEBUGGED, "/sheets", "/machine", f"{SLIDE}&present=1")


def with_key(page: Page, url: str, key: str) -> Page:
    """The page at `url`, which asks for a key, and gets this one."""
    page.goto(url)
    page.get_by_label("Class key").fill(key)
    page.get_by_role("button", name="Sign in").click()
    return page


def signed_in(page: Page, url: str, key: str) -> Page:
    """The same with a right key: another address before its answer is there would be asked for without it."""
    expect(with_key(page, url, key).locator("[data-testid=stApp]")).to_be_visible()
    return page


@pytest.mark.thorough
def test_a_link_survives_signing_in_and_a_wrong_key_is_refused(browser: Browser, school: str) -> None:
    page = with_key(tab(browser), f"{school}{SLIDE}", "a wrong key of mine")
    expect(page.get_by_role("alert")).to_have_text(wording("gate.wrong-key"))
    page.get_by_label("Class key").fill(GIVEN["student"])
    page.get_by_label("Show it").check()
    expect(page.get_by_label("Class key")).to_have_attribute("type", "text")
    page.get_by_role("button", name="Sign in").click()
    heading(page, "bank conflicts")
    expect(page).to_have_url(re.compile(rf"^{school}/\?.*rung=reduce_strided.*n=4096"))
    page.locator(".st-key-run button").first.click()
    assert "Bank conflicts" in counted(page)
    opened(page, f"{school}/machine")
    expect(page.locator(".signedin")).to_contain_text("You are here as student.")
    page.get_by_role("button", name="Sign out").click()
    expect(page.get_by_label("Class key")).to_be_visible()
    assert page.goto(f"{school}{SLIDE}").status == 401
    page.context.close()


@pytest.mark.release
def test_no_page_breaks_its_content_policy(browser: Browser, school: str) -> None:
    page = tab(browser)
    told: list[str] = []
    page.on("console", lambda message: told.append(message.text))
    page.on("pageerror", lambda error: told.append(str(error)))
    page.add_init_script(BREACHES)
    signed_in(page, f"{school}{SLIDE}", GIVEN["presenter"])
    for path in PAGES:
        opened(page, f"{school}{path}")
        found = [one for one in told if "Failed to load resource" not in one]  # Streamlit looks for its own address
        assert found == [], path
    with page.expect_console_message(lambda message: "forbidden script-src" in message.text):  # it is in force
        page.evaluate("setTimeout('window.evil = 1'); 0")
    assert page.evaluate("window.evil") is None
    page.context.close()


@pytest.mark.release
def test_drafts_and_progress_are_private(browser: Browser, school: str) -> None:
    mine, theirs = tab(browser), tab(browser)
    signed_in(mine, f"{school}{SAXPY}", GIVEN["student"])
    text = editor_at(mine, f"{school}{SAXPY}")
    typed(mine, "a * x[i]", "secret + ")
    expect(text).to_contain_text("secret + a * x[i]")
    mine.locator(".cm-content").press("Control+Enter")  # so that the server has it as well
    expect(mine.locator(".insideanswer")).to_contain_text("does not compile")
    expect(mine).to_have_url(re.compile("draft="))
    signed_in(theirs, mine.url, GIVEN["student"])  # the very address, with the draft's own number
    other = editor_at(theirs, mine.url)
    expect(other).to_contain_text("a * x[i]")
    expect(other).not_to_contain_text("secret")
    expect(theirs.locator("table.tries")).to_have_count(0)
    mine.context.close()
    theirs.context.close()

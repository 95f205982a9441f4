"""A lab sheet in a real browser: what is typed is checked at one press, and is there again after a reload."""

from __future__ import annotations

import os
import re
import signal
from datetime import UTC, datetime, timedelta
from pathlib import Path

import pytest
from playwright.sync_api import Browser, Page, Route, expect

from tests.browser.conftest import free_port, running, served, tab
from tests.browser.test_dashboard import conversation, drawn, wait
from tests.browser.test_lab_browser import editor_at, typed

SHEET = "/sheets?sheet=one-matrix-padding&student=Anna"


@pytest.mark.thorough
def test_a_sheet_is_solved_and_the_progress_is_there_after_a_reload(page: Page, address: str) -> None:
    text = editor_at(page, f"{address}{SHEET}")
    text.press("Control+Enter")
    expect(page.locator(".sheetchecks li.bad").first).to_contain_text("Bank conflicts: 3,968")
    expect(page.locator(".sheetchecks li.ok")).to_have_count(6)
    typed(page, "32];", "1 + ")
    page.get_by_text("No: lanes l and").click()
    page.get_by_role("button", name="Check all").click()
    expect(page.locator(".sheetsum")).to_have_text("9 of 9 passed")
    expect(page.locator(".st-key-sheetsolution")).to_contain_text("The unused column costs 3% of the tile.")
    with page.expect_download() as handed:
        page.get_by_role("button", name="Download to hand in").click()
    handed_in = handed.value.path().read_text(encoding="utf-8")
    assert handed_in.startswith("// answer even: b\n") and "[1 + 32]" in handed_in
    page.reload()
    expect(text).to_contain_text("[1 + 32]")
    expect(page.locator(".sheetsum")).to_have_text("9 of 9 passed")
    page.get_by_role("button", name="Check all").click()
    expect(page.locator(".sheetchecks li.ok div").nth(2)).to_contain_text("Bank conflicts: 0 at")
    expect(page.get_by_role("textbox", name="Your name")).to_have_value("Anna")
    menu = page.locator(".st-key-sheet").get_by_role("combobox")
    menu.click()
    expect(page.get_by_role("option", name="one column too many · done ✓")).to_be_visible()
    menu.fill("tile sizes")  # the list has only the options near the chosen one
    page.get_by_role("option", name="CS121: tile sizes").click()
    expect(page.locator(".sheettitle")).to_have_text("CS121: tile sizes")


@pytest.mark.sampled(quick=0, thorough=3)
@pytest.mark.parametrize("hours", [-5, 0, 5])
def test_start_over_works_right_after_typing_whatever_the_clock_says(page: Page, address: str, hours: int) -> None:
    page.clock.set_system_time(datetime.now(UTC) + timedelta(hours=hours))
    text = editor_at(page, f"{address}/sheets?sheet=first-saxpy")
    for words in ("a first mistake", "another one"):
        text.press("Control+Home")
        page.keyboard.type(f"// {words}\n")
        expect(text).to_contain_text(words)
        page.get_by_role("button", name="Start over").click()
        expect(text).not_to_contain_text(words)
    page.locator("[data-part=undo]").click()
    expect(text).to_contain_text("another one")
    page.reload()
    expect(text).to_contain_text("another one")


@pytest.mark.release
def test_the_name_in_a_link_is_there_although_text_fields_come_late(browser: Browser, address: str) -> None:
    """In a window of another size than a server expects the script runs twice, and only the first run says a name."""
    page = browser.new_context(viewport={"width": 1920, "height": 1080}).new_page()
    told, held = conversation(page), list[Route]()
    page.route("**/static/js/TextInput.*.js", lambda route: held.append(route))
    page.goto(f"{address}/sheets?sheet=cs121-tiling&student=Ben")
    wait(page, lambda: told.count("answered") == 2 and bool(held))
    held[0].continue_()
    expect(page.get_by_role("textbox", name="Your name")).to_have_value("Ben")
    drawn(page).get_by_role("button", name="Check all").click()
    expect(page.locator(".sheetsum")).to_have_text("1 of 8 passed")
    expect(page).to_have_url(re.compile("student=Ben"))
    page.context.close()


@pytest.mark.thorough
def test_while_the_server_is_away_one_can_write_on_and_is_told_what_is_safe(browser: Browser, tmp_path: Path) -> None:
    page, port = tab(browser), free_port()
    with running(tmp_path, port) as (url, process):
        text = editor_at(page, f"{url}/sheets?sheet=first-saxpy")
        os.killpg(process, signal.SIGKILL)
        bar = page.locator(".serveraway")
        expect(bar).to_have_text(re.compile("The server is away"))
        expect(page.get_by_role("dialog")).to_have_count(0)
        text.press("Control+Home")
        page.keyboard.type("// written meanwhile\n")
        expect(page.get_by_role("button", name="Check all")).to_be_disabled()
    with served(tmp_path, port):
        expect(bar).to_have_count(0)
        expect(page.get_by_role("button", name="Check all")).to_be_enabled()
        text.press("Control+Enter")
        expect(page.locator(".sheetsum")).to_have_text(re.compile(r"\d of 5 passed"))
        expect(text).to_contain_text("written meanwhile")
    page.context.close()

"""The lecturer's keys and the bar of a slide, in a real browser."""

from __future__ import annotations

import itertools
import re

import pytest
from playwright.sync_api import Page, expect

from tests.browser.test_dashboard import HARRIS, heading, opened, says, wait


def keep_the_bar(page: Page) -> None:
    """The mouse shows the bar of a slide, and it stays as long as the mouse is over it."""
    bar = page.locator(".st-key-bar")

    def under_the_mouse() -> bool:
        page.mouse.move(400, 300)
        box = bar.bounding_box()
        if box:
            page.mouse.move(box["x"] + 4, box["y"] + 4)
        return bool(bar.evaluate("bar => bar.matches(':hover')"))

    wait(page, under_the_mouse)


@pytest.mark.thorough
def test_a_presenters_remote_steps_blackens_and_the_bar_fades(page: Page, address: str) -> None:
    opened(page, f"{address}{HARRIS}&present=1&reveal=all")
    heading(page, "Interleaved addressing, divergent")
    page.keyboard.press("PageDown")
    heading(page, "bank conflicts")
    page.keyboard.press("b")
    expect(page.locator(".blackscreen")).to_be_visible()
    page.keyboard.press("PageDown")
    expect(page.locator(".blackscreen")).to_have_count(0)
    heading(page, "Sequential addressing")
    page.keyboard.press("PageUp")
    heading(page, "bank conflicts")
    bar = page.locator(".st-key-bar")
    moved = itertools.count(300)

    def shown() -> bool:
        page.mouse.move(400, next(moved))  # what the mouse shows, fades
        return bar.evaluate("bar => getComputedStyle(bar).opacity") == "1"

    wait(page, shown)
    expect(bar).to_have_css("opacity", "0")


@pytest.mark.release
def test_the_bar_changes_the_block_size_and_the_plot_and_the_cross_leads_out(page: Page, address: str) -> None:
    opened(page, f"{address}{HARRIS}&present=1&reveal=all")
    keep_the_bar(page)
    page.locator(".st-key-bar .st-key-block input").click()
    page.get_by_role("option", name="256").click()
    expect(page).to_have_url(re.compile("block=256"))
    keep_the_bar(page)
    page.locator(".st-key-bar .st-key-plot input").click()
    page.get_by_role("option", name="Speedup").click()
    expect(page).to_have_url(re.compile("show=speedup"))
    expect(page.locator(".st-key-drawing")).to_contain_text("Cumulative speedup")
    keep_the_bar(page)
    page.locator(".leave").click()
    expect(page.locator("table.ladder").first).to_be_visible()
    says(page, "block=256")
    expect(page).not_to_have_url(re.compile("present"))


@pytest.mark.thorough
def test_space_home_and_end_do_what_a_slide_show_does(page: Page, address: str) -> None:
    opened(page, f"{address}{HARRIS}&present=1&reveal=all")
    page.keyboard.press("End")
    heading(page, "shuffle")
    page.keyboard.press("Home")
    heading(page, "Interleaved addressing, divergent")
    page.keyboard.press("Space")
    heading(page, "bank conflicts")
    page.keyboard.press("Shift+Space")
    heading(page, "Interleaved addressing, divergent")


@pytest.mark.sampled(quick=0, thorough=4)
@pytest.mark.parametrize("path", ["/", "/sweep", "/inside", "/machine"])
def test_on_every_page_the_question_mark_shows_the_keys_and_p_presents(page: Page, address: str, path: str) -> None:
    opened(page, f"{address}{path}")
    page.keyboard.press("?")
    expect(page.locator("dialog.keys")).to_contain_text("fill the screen")
    page.keyboard.press("Escape")
    expect(page.locator("dialog.keys")).to_have_count(0)
    page.locator(".showkeys").first.click()
    expect(page.locator("dialog.keys")).to_be_visible()
    page.keyboard.press("?")
    expect(page.locator("dialog.keys")).to_have_count(0)
    page.keyboard.press("p")
    expect(page.locator(".presenting")).to_be_visible()


@pytest.mark.thorough
def test_the_keyboard_alone_leads_from_the_start_page_to_a_run_on_a_slide(page: Page, address: str) -> None:
    opened(page, address)
    page.keyboard.press("p")
    expect(page.locator(".presenting h1")).to_contain_text("#1")
    page.keyboard.press("ArrowRight")  # its numbers
    page.keyboard.press("ArrowRight")
    expect(page.locator(".presenting h1")).to_contain_text("#2")
    page.keyboard.press("r")
    expect(page.locator(".outcome .ok")).to_contain_text("Correct")
    page.keyboard.press("?")
    expect(page.locator("dialog.keys")).to_be_visible()
    page.keyboard.press("Escape")
    expect(page.locator("dialog.keys")).to_have_count(0)
    page.keyboard.press("Escape")
    expect(page.locator(".presenting")).to_have_count(0)

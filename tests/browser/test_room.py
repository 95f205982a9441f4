"""Phones follow the lecture at /f: from the card of the presenter's slide to its end."""

from __future__ import annotations

import os
import re
import signal
from collections.abc import Iterator
from pathlib import Path

import pytest
from playwright.sync_api import Browser, Page, ViewportSize, expect

from tests.browser.conftest import GIVEN, free_port, running, tab
from tests.browser.test_access_browser import SLIDE, signed_in
from tests.browser.test_accessibility import violations

PHONE: ViewportSize = {"width": 360, "height": 640}
ASKS_AGAIN_MS = 15_000  # a page that was not told of the lecture asks again after 20 s
MOVING = "[data-part=player]"
LEAST = 43.5  # pixels of a target: 44, rounded
BEYOND = """() => [...document.querySelectorAll('body *')].filter((each) => {
  const { left, right, width } = each.getBoundingClientRect();
  return width && (left < -1 || right > innerWidth + 1) && !each.closest('.lines, .pane');
}).map((each) => each.outerHTML.slice(0, 100))"""


@pytest.fixture
def phone(browser: Browser) -> Iterator[Page]:
    context = browser.new_context(viewport=PHONE, has_touch=True)
    page = context.new_page()
    wrong: list[str] = []
    page.on("pageerror", lambda error: wrong.append(str(error)))
    page.on("console", lambda said: wrong.append(said.text) if "Content Security Policy" in said.text else None)
    yield page
    context.close()
    assert not wrong


def fits(phone: Page) -> None:
    """Nothing is beyond the edge, every target is large enough, and axe-core finds nothing to object to."""
    assert violations(phone) == []
    assert phone.evaluate(BEYOND) == []
    for target in phone.locator("button, summary, a, input").all():
        box = target.bounding_box()
        assert box is None or box["height"] >= LEAST, target.evaluate("(each) => each.outerHTML")


def moment(page: Page) -> str:
    """The number of the frame that the block in motion shows."""
    return page.locator(MOVING).get_attribute("data-frame") or ""


@pytest.mark.thorough
def test_a_phone_follows_with_the_cards_code_from_the_first_slide_to_the_end(
    browser: Browser, phone: Page, school: str
) -> None:
    phone.goto(f"{school}/f")
    expect(phone.locator("#code")).to_be_visible()
    fits(phone)
    student = signed_in(tab(browser), f"{school}/sweep", GIVEN["student"])
    expect(student.locator("table").first).to_be_visible()
    hall = signed_in(tab(browser), f"{school}{SLIDE}&present=1", GIVEN["presenter"])
    expect(hall.locator(".presenting")).to_be_visible()
    expect(student.locator(".lecturestrip")).to_be_visible(timeout=ASKS_AGAIN_MS)

    hall.keyboard.press("g")
    card = hall.locator(".roomcard")
    expect(card.locator("img")).to_be_visible()
    assert card.locator("img").evaluate("(image) => image.naturalWidth") > 100
    assert violations(hall) == []
    phone.locator("#code").fill(card.locator(".code").inner_text())
    phone.get_by_role("button").click()
    expect(phone.locator("#label")).to_have_text("#2")
    expect(card.locator("[data-ticket]")).to_have_text("1")
    assert "t=" not in phone.url and phone.goto(f"{school}/lab").status == 401  # type: ignore[union-attr]
    phone.goto(f"{school}/f")
    hall.keyboard.press("Escape")
    expect(card).to_have_count(0)
    expect(hall.locator(".presenting")).to_be_visible()

    expect(phone.locator("#numbers")).to_contain_text("?")
    fits(phone)
    hall.keyboard.press("ArrowRight")
    expect(phone.locator("#numbers strong").first).to_contain_text(re.compile(r"\d"))
    expect(phone.locator("#plot .bars svg").first).to_be_visible()
    fits(phone)
    student.get_by_role("button", name="Follow it").click()
    expect(student).to_have_url(re.compile("rung=reduce_strided.*follow=1"))
    hall.keyboard.press("x")
    expect(phone.locator("#drawn")).to_be_visible()
    expect(phone.locator("#told")).not_to_be_empty()
    fits(phone)
    expect(student.locator(MOVING)).to_be_visible()
    began = moment(hall)
    hall.keyboard.press("n")
    expect(hall.locator(MOVING)).not_to_have_attribute("data-frame", began)
    expect(hall.locator(f"{MOVING} [aria-label=Play]")).to_be_visible()
    expect(student.locator(MOVING)).to_have_attribute("data-frame", moment(hall))
    hall.keyboard.press("ArrowRight")
    expect(phone.locator("#moment")).to_be_hidden()

    hall.keyboard.press("ArrowRight")
    expect(phone.locator("#label")).to_have_text("#3")
    expect(student).to_have_url(re.compile("rung=reduce_sequential.*follow=1"))
    student.get_by_role("link", name="Sheets").click()
    expect(student).to_have_url(re.compile("/sheets"))
    student.get_by_role("button", name="Follow it").click(timeout=ASKS_AGAIN_MS)
    expect(student).to_have_url(re.compile("rung=reduce_sequential.*follow=1"))
    hall.keyboard.press("Escape")
    expect(phone.locator("#on")).to_have_attribute("href", re.compile("rung=reduce_sequential"))
    fits(phone)
    for page in (hall, student):
        page.context.close()


@pytest.mark.release
def test_two_windows_of_a_server_without_keys_rehearse_and_outlast_its_restart(
    browser: Browser, phone: Page, tmp_path: Path
) -> None:
    port = free_port()
    with running(tmp_path, port) as (url, process):
        phone.goto(f"{url}/f")
        expect(phone.locator("[data-phase=before].now")).to_be_visible()
        hall = tab(browser)
        hall.goto(f"{url}/?ladder=harris&present=1")
        expect(hall.locator(".presenting")).to_be_visible()  # before it, End scrolls
        expect(phone.locator("#label")).to_have_text("#1")
        hall.keyboard.press("End")
        expect(phone.locator("#label")).to_have_text("shuffle")
        os.kill(process, signal.SIGKILL)
        expect(phone.locator("#connection")).not_to_be_empty()
    with running(tmp_path, port):
        expect(phone.locator("#connection")).to_be_empty()
        expect(phone.locator("#label")).to_have_text("shuffle")
        hall.goto(f"{url}/?ladder=harris&rung=reduce_strided&present=1")
        expect(hall.locator(".presenting")).to_be_visible()
        expect(phone.locator("#label")).to_have_text("#2")
        hall.keyboard.press("Escape")
        expect(phone.locator("#on")).to_be_visible()
        hall.context.close()

"""A question before the numbers: the hall votes on phones, the lecturer closes, and the numbers answer."""

from __future__ import annotations

from collections.abc import Iterator
from pathlib import Path

import pytest
from playwright.sync_api import Browser, Page, expect

from tests.browser.conftest import running, tab
from tests.browser.test_room import PHONE, fits

SMALLEST, LESSON = 0.0219, 0.0279  # parts of the slide's height
SIZES = """() => [...document.querySelectorAll('.question :is(h2, li span, li b, li em, p, small)')]
  .filter((part) => part.checkVisibility() && part.textContent.trim())
  .map((part) => [part.tagName, parseFloat(getComputedStyle(part).fontSize) / innerHeight])"""


def covered(hall: Page, part: str) -> None:
    """Check that the question leaves no part of this place in sight."""
    question, place = hall.locator(".question").bounding_box(), hall.locator(part).first.bounding_box()
    assert question is not None and place is not None
    assert question["x"] <= place["x"] + 1 and question["y"] <= place["y"] + 1
    assert question["x"] + question["width"] >= place["x"] + place["width"] - 1
    assert question["y"] + question["height"] >= place["y"] + place["height"] - 1


@pytest.fixture
def phones(browser: Browser) -> Iterator[list[Page]]:
    contexts = [browser.new_context(viewport=PHONE, has_touch=True) for _ in range(2)]
    yield [context.new_page() for context in contexts]
    for context in contexts:
        context.close()


@pytest.mark.thorough
def test_a_hall_votes_talks_votes_again_and_sees_the_number(
    browser: Browser, phones: list[Page], tmp_path: Path
) -> None:
    with running(tmp_path) as (url, _):
        hall = tab(browser)
        hall.goto(f"{url}/?ladder=harris&rung=reduce_sequential&present=1")
        expect(hall.locator(".presenting")).to_be_visible()
        for phone in phones:
            phone.goto(f"{url}/f")
            expect(phone.locator("#label")).to_have_text("#3")
        hall.keyboard.press("q")
        question = hall.locator(".question")
        expect(question.locator("li")).to_have_count(4)
        for phone in phones:
            expect(phone.locator("button.choice")).to_have_count(4)
        fits(phones[0])
        under_a_finger = phones[1].locator("button.choice").nth(2).element_handle()
        phones[0].locator("button.choice").nth(0).click()
        expect(question.locator(".votes")).to_have_text("1")
        phones[0].locator("button.choice").nth(3).click()
        expect(phones[0].locator("button.chosen b")).to_have_text("D")
        phones[0].reload()
        expect(phones[0].locator("button.chosen b")).to_have_text("D")
        phones[1].wait_for_function("() => room.state.question.votes === 1")
        assert under_a_finger.evaluate("button => button.isConnected")
        phones[1].locator("button.choice").nth(2).click()
        expect(question.locator(".votes")).to_have_text("2")
        hall.keyboard.press("h")
        hall.locator(".st-key-hands input").fill("1 0 0 0")
        hall.keyboard.press("Enter")
        expect(question.locator(".votes")).to_have_text("3")
        assert hall.locator(".question .bar").count() == 0
        covered(hall, ".stColumn:last-child .tiles")
        expect(hall.locator(".st-key-hands")).to_have_count(0)
        hall.keyboard.press("q")
        expect(question.locator("li em")).to_have_text(["33%", "0%", "33%", "33%"])
        expect(phones[1].locator(".told")).to_have_count(4)

        hall.keyboard.press("q")
        expect(phones[1].locator("button.choice")).to_have_count(4)
        phones[1].locator("button.choice").nth(2).click()
        expect(question.locator(".votes")).to_have_text("1")
        hall.keyboard.press("ArrowRight")
        expect(question.locator("li.right b")).to_have_text("C")
        expect(question.locator("li.right em")).to_have_text(["33%", "100%"])
        expect(hall.locator(".tile strong").first).to_contain_text("µs")
        covered(hall, ".stColumn:first-child .source")
        for name, size in hall.evaluate(SIZES):
            assert size >= (SMALLEST if name in ("SMALL", "EM") else LESSON), name
        expect(phones[1].locator(".told.right b")).to_have_text("C")
        expect(phones[1].locator("#vote [role=status]")).to_contain_text("became")
        fits(phones[1])
        hall.keyboard.press("ArrowRight")
        expect(question).to_have_count(0)
        expect(phones[1].locator("#vote h2")).to_have_count(0)
        hall.context.close()

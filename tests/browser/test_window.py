"""The presenter's second window: both windows step together, notes can be edited, and questions arrive."""

from __future__ import annotations

from pathlib import Path

import pytest
from playwright.sync_api import Browser, expect

from tests.browser.conftest import running, tab
from tests.browser.test_room import PHONE

# Milliseconds from a key in this window until it shows another slide.
STEP = """() => new Promise((done) => {
  const began = performance.now(), label = document.getElementById('label'), before = label.textContent;
  new MutationObserver(() => { if (label.textContent !== before) done(performance.now() - began); })
    .observe(label, { childList: true, characterData: true, subtree: true });
  dispatchEvent(new KeyboardEvent('keydown', { key: 'ArrowRight' }));
})"""


@pytest.mark.release
def test_two_windows_step_together_and_the_hall_asks(browser: Browser, tmp_path: Path) -> None:
    with running(tmp_path) as (url, _):
        hall = tab(browser)
        hall.goto(f"{url}/?ladder=harris&rung=reduce_strided&present=1&reveal=all")
        expect(hall.locator(".room[data-key]")).to_be_attached()
        expect(hall.locator(".presenting h1")).to_be_visible()  # from now on the slide's keys count
        with hall.expect_popup() as opened:
            hall.keyboard.press("w")
        window = opened.value
        wrong: list[str] = []
        window.on("pageerror", lambda error: wrong.append(str(error)))
        expect(window.locator("#label")).to_have_text("#2")
        expect(window.locator("#nextlabel")).to_have_text("#3")
        expect(window.locator("#nextnumbers")).to_contain_text("×")
        expect(window.locator("#note li").first).to_be_visible()
        assert window.evaluate(STEP) < 10_000
        expect(hall.locator(".presenting h1")).to_contain_text("#3")
        hall.keyboard.press("ArrowRight")
        expect(window.locator("#label")).to_have_text("#4")

        window.locator("#edit").click()
        window.locator("#text").fill("Ask **first**. <script>alert(1)</script>")
        window.locator("#edit").click()
        expect(window.locator("#note strong")).to_have_text("first")
        assert window.locator("#note script").count() == 0
        window.locator("#takeback").click()
        expect(window.locator("#note li").first).to_be_visible()

        phone = browser.new_context(viewport=PHONE).new_page()
        phone.goto(f"{url}/f")
        phone.locator("#question").fill("Why is it a tree?")
        phone.get_by_role("button", name="Send").click()
        expect(window.locator("#asked li")).to_contain_text("#4: Why is it a tree?")
        window.get_by_role("button", name="Done").click()
        expect(window.locator("#asked li")).to_have_count(0)
        expect(window.locator("#followers")).to_have_text("1")
        hall.keyboard.press("Escape")
        expect(window.locator("#told")).not_to_be_empty()
        assert not wrong
        phone.context.close()
        hall.context.close()

"""A student's page goes where the lecture goes, and shows what came of the presenter's run."""

from __future__ import annotations

import re

import pytest
from playwright.sync_api import Browser, expect

from tests.browser.conftest import GIVEN, tab
from tests.browser.test_access_browser import SLIDE, signed_in
from tests.browser.test_dashboard import heading

pytestmark = pytest.mark.release


def test_a_page_that_follows_steps_with_the_lecture_and_sees_its_result(browser: Browser, school: str) -> None:
    hall = signed_in(tab(browser), f"{school}{SLIDE}&present=1&reveal=all", GIVEN["presenter"])
    expect(hall.locator(".presenting")).to_be_visible()
    student = signed_in(tab(browser), f"{school}/?ladder=crovella", GIVEN["student"])
    student.get_by_role("button", name="Follow").click()
    heading(student, "bank conflicts")
    hall.keyboard.press("ArrowRight")
    expect(student).to_have_url(re.compile("rung=reduce_sequential.*follow=1"))
    expect(student.locator(".st-key-numbers")).not_to_contain_text("Correct")
    hall.keyboard.press("r")
    expect(student.locator(".st-key-numbers")).to_contain_text("Correct")
    student.get_by_role("button", name="Following").click()
    expect(student.get_by_role("button", name="Follow", exact=True)).to_be_visible()
    hall.keyboard.press("ArrowRight")
    expect(hall).to_have_url(re.compile("rung=(?!reduce_sequential)"))
    student.wait_for_function("document.querySelector('.follows') === null")
    assert "rung=reduce_sequential" in student.url
    hall.context.close()
    student.context.close()

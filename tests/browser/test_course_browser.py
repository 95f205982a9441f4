"""A course in two browsers: a student under its rules, and the teaching assistant who sees where students are stuck."""

from __future__ import annotations

import re
from pathlib import Path

import pytest
from playwright.sync_api import Browser, expect

from engine.sheets.folder import ELSEWHERE
from tests.browser.conftest import CLASS_KEYS, GIVEN, served, tab
from tests.browser.test_access_browser import signed_in
from tests.browser.test_lab_browser import editor_at
from views.access.policy import KEYS

RULES = "[first-saxpy]\ndeadline = 2999-01-01T12:00:00Z\nattempts = 3\n"


@pytest.mark.thorough
def test_a_student_works_under_the_rules_of_a_course_and_the_assistant_sees_where(
    browser: Browser, tmp_path: Path
) -> None:
    (tmp_path / "course").mkdir()
    (tmp_path / "course" / "course.toml").write_text(RULES)
    with served(tmp_path, **{KEYS: CLASS_KEYS, ELSEWHERE: str(tmp_path / "course")}) as url:
        sheet = f"{url}/sheets?sheet=first-saxpy&student=Ada"
        page = signed_in(tab(browser), sheet, GIVEN["student"])
        text = editor_at(page, sheet)
        rules = page.locator(".st-key-sheet_rules, .st-key-sheet-rules")
        expect(rules).to_contain_text("Due 1 January 2999, 12:00 (UTC). 3 attempts left of 3.")
        text.press("Control+Home")
        page.keyboard.type("// the first text\n")
        text.press("Control+Enter")
        expect(page.locator(".sheetsum")).to_have_text(re.compile(r"\d of \d passed"))
        expect(rules).to_contain_text("2 attempts left of 3.")
        page.get_by_role("button", name="Start over").click()
        expect(text).not_to_contain_text("the first text")
        page.get_by_role("button", name="Earlier texts").click()
        page.get_by_role("button", name="Bring back").first.click()
        expect(text).to_contain_text("the first text")
        assistant = signed_in(tab(browser), f"{url}/machine", GIVEN["assistant"])
        expect(assistant.locator("h3").first).to_have_text("Lab sheets: progress of the students")
        table = assistant.locator("table", has_text="Student").first
        expect(table).to_contain_text(re.compile(r"Ada \(\w{4}\)"))
        expect(table.locator("tr", has_text="stuck at")).to_contain_text(re.compile(r"\w+ \(1\)"))
        page.goto(sheet.replace("first-saxpy", "heidelberg-2"))
        editor_at(page, page.url).press("Control+Enter")
        expect(table.locator("th", has_text="heidelberg-2")).to_have_count(1)  # nobody pressed anything there
        for each in (page, assistant):
            each.context.close()

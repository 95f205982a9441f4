"""A student opens a sheet in a learning platform, in a real browser, and the points come back there."""

from __future__ import annotations

import re
from pathlib import Path

import pytest
from playwright.sync_api import Browser, expect

from engine.sheets.folder import load
from tests.browser.conftest import CLASS_KEYS, free_port, served, tab
from tests.browser.learning_platform import learning_platform
from views.access.lti import SETTINGS
from views.access.policy import KEYS

SHEET = load("access-sectors")


@pytest.mark.release
def test_a_sheet_is_opened_from_a_platform_and_its_points_come_back(browser: Browser, tmp_path: Path) -> None:
    port = free_port()
    with learning_platform() as platform:
        platform.tool, platform.sheet = f"http://127.0.0.1:{port}", SHEET.name
        (tmp_path / "lti.toml").write_text(platform.settings)
        with served(tmp_path, port, **{KEYS: CLASS_KEYS, SETTINGS: str(tmp_path / "lti.toml")}):
            page = tab(browser)
            page.goto(f"{platform.address}/open")
            expect(page).to_have_url(re.compile(rf"/sheets\?.*sheet={SHEET.name}"))
            expect(page.get_by_role("textbox", name="Your name")).to_have_value("Ada Lovelace")
            expect(page.get_by_text("Your points go to 127.0.0.1 after each check.")).to_be_visible()
            question = SHEET.questions[1]
            page.get_by_role("textbox", name=question.aim).fill(f"{question.answer:g}")
            page.get_by_role("button", name="Check all").click()
            expect(page.locator(".sheetsum")).to_contain_text("1 of 5 passed")
            for _ in range(100):
                if platform.scores:
                    break
                page.wait_for_timeout(200)
            (place, score), *more = platform.scores
            assert not more and place == "/items/3/scores?type=1" and score["userId"] == "4711"
            assert (score["scoreGiven"], score["scoreMaximum"]) == (question.points, SHEET.points)
            assert score["activityProgress"] == "InProgress" and score["gradingProgress"] == "FullyGraded"
            # Who comes again, in another browser, finds the answers; and a lecturer sees everybody.
            again = tab(browser)
            again.goto(f"{platform.address}/open")
            expect(again.locator(".sheetsum")).to_contain_text("1 of 5 passed")
            platform.somebody |= {"sub": "1", "name": "Grace", "https://purl.imsglobal.org/spec/lti/claim/roles": [
                "http://purl.imsglobal.org/vocab/lis/v2/membership#Instructor"]}  # fmt: skip
            lecturer = tab(browser)
            lecturer.goto(f"{platform.address}/open")
            expect(lecturer.get_by_role("textbox", name="Your name")).to_have_value("Grace")
            lecturer.goto(f"{platform.tool}/machine")
            expect(lecturer.locator(".signedin")).to_contain_text("presenter")
            expect(lecturer.get_by_text(re.compile("Ada Lovelace"))).to_be_visible()
            for each in (page, again, lecturer):
                each.context.close()
